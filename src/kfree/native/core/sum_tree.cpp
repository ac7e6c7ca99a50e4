#include "core/sum_tree.hpp"

#include <algorithm>

namespace kfree {

std::vector<TreeNode> nodes_covering(int64_t begin, int64_t end) {
  std::vector<TreeNode> nodes;
  while (begin < end) {
    TreeNode node{0, begin};
    while (node.is_left() && node.parent().end() <= end) node = node.parent();
    nodes.push_back(node);
    begin = node.end();
  }
  return nodes;
}

std::vector<Join> joins_of(const std::vector<TreeNode>& nodes) {
  struct Placed {
    TreeNode node;
    size_t place;
  };
  std::vector<Placed> left, lifted;
  for (size_t place = 0; place < nodes.size(); ++place) left.push_back({nodes[place], place});
  std::vector<Join> joins;
  // Level by level from the lowest: siblings are joined, and what has none goes up as it is.
  for (int level = 0; left.size() > 1; ++level, left.swap(lifted)) {
    lifted.clear();
    for (const Placed& p : left) {
      const bool lifts = p.node.level == level;
      const TreeNode node = lifts ? p.node.parent() : p.node;
      if (lifts && !lifted.empty() && lifted.back().node.level == node.level && lifted.back().node.index == node.index)
        joins.push_back({lifted.back().place, p.place});
      else
        lifted.push_back({node, p.place});
    }
  }
  return joins;
}

}  // namespace kfree
