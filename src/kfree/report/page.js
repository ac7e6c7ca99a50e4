"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const GOLDEN_ANGLE = 0.381966;
const TABLE_COLUMNS = 30;
// ``group`` is the group of the next coarser step whose clusters are shown, or null for all.
const state = { step: data.steps.findIndex((step) => step.own), cluster: null, group: null, point: null };

function made(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
function drawn(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
function unpacked(labels) {
  const bytes = Uint8Array.from(atob(labels.data), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const width = labels.type === "<i2" ? 2 : 4;
  const read = width === 2 ? (place) => view.getInt16(place, true) : (place) => view.getInt32(place, true);
  return Array.from({ length: bytes.length / width }, (_, row) => read(row * width));
}
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const hue = (colour) => ((colour * GOLDEN_ANGLE + 0.58) % 1) * 360;
const colourOf = (colour) => `hsl(${hue(colour)} ${style("--dot-saturation")} ${style("--dot-light")})`;
const counted = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const written = (value, digits) => value.toLocaleString("en", digits).replace("-", "−");
const shown = (value) => (value === null ? "–" : written(Number(value.toPrecision(4)), { maximumSignificantDigits: 4 }));
/* A share: 0 % is none and 100 % is all, and what is nearly that is below or above a limit. */
function percent(share, decimals = 0) {
  const least = 10 ** -decimals, text = (100 * share).toFixed(decimals);
  if (share > 0 && Number(text) === 0) return `<${least.toFixed(decimals)} %`;
  if (share < 1 && Number(text) === 100) return `>${(100 - least).toFixed(decimals)} %`;
  return `${text} %`;
}
/* A value of an axis: a number with the decimals of its column, a share, a date from years, a time from seconds, or levels. */
function valueText(value, unit) {
  if (value === null) return "–";
  if (!unit) return shown(value);
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  if (unit.kind === "share") return value === 0 ? "no" : value === 1 ? "yes" : percent(value);  // a row has a level or not
  if (unit.kind === "date") return new Date((value - 1970) * 365.2425 * 86400e3 + 1000).toISOString().slice(0, unit.decimals ? 16 : 10).replace("T", " ");
  if (unit.kind === "time of day") return `${two(value / 3600)}:${two((value % 3600) / 60)}`;
  if (unit.levels) {
    const rank = Math.min(Math.max(value, 0), unit.levels.length - 1);
    return [...new Set([Math.floor(rank + 0.25), Math.ceil(rank - 0.25)])].map((place) => unit.levels[place]).join(" to ");
  }
  if (unit.decimals > 9 || Math.abs(value) >= 1e15) return shown(value);
  return written(Math.round(value * 10 ** unit.decimals) / 10 ** unit.decimals + 0, { maximumFractionDigits: unit.decimals });
}
const current = () => data.steps[state.step];
const isShown = (label) => state.group === null || current().parents[label] === state.group;
/* The name that was given to a cluster of the model, or its number. */
const nameOf = (label, word = "") => (current().own && data.names && data.names[label]) || `${word}${label}`;
const shownClusters = () => current().clusters.filter((cluster) => isShown(cluster.label));
for (const step of data.steps) step.places = unpacked(step.points);

/* The staircase: penalties across (logarithmic), numbers of clusters up. */
function drawStairs() {
  const svg = at("stairs");
  if (!svg) return;
  const width = svg.clientWidth || 900, height = 230, left = 44, right = 18, top = 32, bottom = 38;  // room for "k = 200" above
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", `Staircase: the best number of clusters for every penalty; ${data.suggested} suggested`);
  const ends = data.stairs.map((stair) => [
    stair.low > 0 ? stair.low : stair.high / 4, stair.high === null ? stair.low * 4 : stair.high]);
  const most = Math.max(...data.steps.map((step) => step.k)) * 1.5;
  const kept = data.stairs.map((stair, j) => ({ ...stair, ends: ends[j] }))
    .filter((stair) => stair.k <= most && stair.ends.every((end) => end > 0));
  if (!kept.length) return;
  const low = Math.log(Math.min(...kept.map((stair) => stair.ends[0])));
  const high = Math.log(Math.max(...kept.map((stair) => stair.ends[1])));
  const topK = Math.log(Math.max(2, ...kept.map((stair) => stair.k)));
  const x = (lam) => left + ((Math.log(lam) - low) / (high - low || 1)) * (width - left - right);
  const y = (k) => height - bottom - (Math.log(k) / topK) * (height - top - bottom);
  svg.append(drawn("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  const ticks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].filter((k) => Math.log(k) <= topK + 1e-9);
  for (const k of ticks) {
    const text = drawn("text", { x: left - 8, y: y(k) + 4, "text-anchor": "end" });
    text.textContent = k;
    svg.append(text);
  }
  const every = Math.max(1, Math.ceil(70 / (x(10) - x(1))));  // labels are up to 70 pixels wide
  for (let power = Math.ceil(low / Math.LN10); power <= high / Math.LN10; power += every) {
    const text = drawn("text", { x: x(10 ** power), y: height - bottom + 16, "text-anchor": "middle" });
    text.textContent = Math.abs(power) > 6 ? `1e${power}` : Number((10 ** power).toPrecision(3)).toLocaleString("en");
    svg.append(text);
  }
  const caption = drawn("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" });
  caption.textContent = "penalty of a cluster (lam)";
  svg.append(caption);
  const line = kept.flatMap((stair) => [`${x(stair.ends[1])},${y(stair.k)}`, `${x(stair.ends[0])},${y(stair.k)}`]);
  svg.append(drawn("polyline", { class: "tread", points: line.join(" ") }));
  const now = kept.find((stair) => stair.k === current().k);
  if (now) svg.append(drawn("line", { class: "now", x1: x(now.ends[0]), x2: x(now.ends[1]), y1: y(now.k), y2: y(now.k) }));
  data.steps.forEach((step, j) => {
    const place = Math.min(Math.max(Math.log(step.lam), low), high);
    const centre = { cx: x(Math.exp(place)), cy: y(Math.min(step.k, Math.exp(topK))) };
    const stop = drawn("circle", { class: j === state.step ? "stop current" : "stop", r: j === state.step ? 6 : 4.5, ...centre });
    const title = drawn("title", {});
    title.textContent = counted(step.k, "cluster");
    stop.append(title);
    stop.addEventListener("click", () => show(j));
    svg.append(stop);
    if (j === state.step) {
      const text = drawn("text", { class: "k", x: centre.cx, y: centre.cy - 12, "text-anchor": "middle" });
      text.textContent = `k = ${step.k}`;
      svg.append(text);
    }
  });
}

/* The map: a canvas, with places of the points kept for pointing at them. */
let places = [], placed = null;  // ``placed`` gives the place of two values
function drawMap() {
  const canvas = at("map"), box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = box.width * ratio;
  canvas.height = box.height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.clearRect(0, 0, box.width, box.height);
  const across = data.points.axes[at("across").value], up = data.points.axes[at("up").value];
  if (data.places) placed = drawGraticule(pen, box);
  else placed = drawAxes(pen, box, across, up);
  const step = current(), radius = data.points.rows.length > 800 ? 3 : 4;
  places = data.points.rows.map((_, row) => placed(across.values[row], up.values[row]));
  const faint = state.cluster;
  const palette = step.colours.map(colourOf);
  for (const pass of [0, 1]) {
    places.forEach(([px, py], row) => {
      const own = step.places[row];
      const stands = faint === null ? own < 0 || isShown(own) : own === faint;
      if (stands !== (pass === 1)) return;
      pen.globalAlpha = stands ? 0.85 : 0.12;
      pen.fillStyle = own < 0 ? style("--muted") : palette[own];
      pen.beginPath();
      pen.arc(px, py, radius, 0, 2 * Math.PI);
      pen.fill();
    });
  }
  pen.globalAlpha = 1;
  if (step.centres) drawCentres(pen, step);
  drawNumbers(pen, step);
  if (state.point !== null) {
    const [px, py] = places[state.point];
    pen.strokeStyle = style("--text");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(px, py, radius + 3, 0, 2 * Math.PI);
    pen.stroke();
  }
  canvas.setAttribute("aria-label", `Map of ${counted(places.length, data.word)} in ${counted(step.k, "cluster")}`);
}
function drawAxes(pen, box, across, up) {
  const scale = (values, from, to) => {
    const known = values.filter((value) => value !== null);
    const low = Math.min(...known), high = Math.max(...known);
    return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
  };
  const x = scale(across.values, 52, box.width - 20), y = scale(up.values, box.height - 40, 18);
  pen.strokeStyle = style("--line");
  pen.fillStyle = style("--muted");
  pen.font = "12px system-ui, sans-serif";
  pen.beginPath();
  pen.moveTo(44, 10);
  pen.lineTo(44, box.height - 32);
  pen.lineTo(box.width - 10, box.height - 32);
  pen.stroke();
  const ends = (values) => { const known = values.filter((value) => value !== null); return [Math.min(...known), Math.max(...known)]; };
  pen.textBaseline = "top";
  ends(across.values).forEach((value, j) => {
    pen.textAlign = j ? "right" : "left";
    pen.fillText(valueText(value, across.unit), x(value), box.height - 27);
  });
  pen.textAlign = "center";
  pen.fillText(across.name, box.width / 2, box.height - 16, box.width * 0.7);
  pen.textAlign = "right";
  ends(up.values).forEach((value, j) => { pen.textBaseline = j ? "top" : "bottom"; pen.fillText(valueText(value, up.unit), 40, y(value), 38); });
  pen.save();
  pen.translate(10, box.height / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(up.name, 0, 0, box.height * 0.7);
  pen.restore();
  return (one, other) => [x(one), y(other)];
}
/* Places on the Earth: equirectangular, with true shapes at the middle latitude. The map begins after the widest range of
   longitudes without a place, so that clusters at the date line are whole. */
const GRID = [30, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001];
function degreesText(value, positive, negative, decimals = 3) {
  const size = Number(Math.abs(value).toFixed(decimals));
  return `${size}°${size === 0 || size === 180 ? "" : ` ${value < 0 ? negative : positive}`}`;
}
const placeText = ([latitude, longitude]) => `${latitudeText(latitude)}, ${longitudeText(longitude)}`;
const latitudeText = (value, decimals) => degreesText(value, "N", "S", decimals);
const longitudeText = (value, decimals) => degreesText(((value + 180) % 360 + 360) % 360 - 180, "E", "W", decimals);
function drawGraticule(pen, box) {
  const centres = current().centres, [latitudes, longitudes] = data.points.axes.map((axis, j) => axis.values.concat(centres.map((centre) => centre[j])));
  const round = longitudes.map((value) => (value + 720) % 360).sort((a, b) => a - b);
  let west = round[0], gap = round[0] + 360 - round[round.length - 1];
  for (let j = 1; j < round.length; j++) if (round[j] - round[j - 1] > gap) [west, gap] = [round[j], round[j] - round[j - 1]];
  const low = Math.min(...latitudes), high = Math.max(...latitudes), middle = (low + high) / 2;
  const shrink = Math.max(Math.cos((middle * Math.PI) / 180), 0.05), least = 1e-3;
  const wide = Math.max(360 - gap, least), tall = Math.max(high - low, least);
  const left = 62, right = 18, top = 14, bottom = 30;
  const scale = Math.min((box.width - left - right - 16) / (wide * shrink), (box.height - top - bottom - 16) / tall);
  const x = (degrees) => (left + box.width - right) / 2 + (degrees - west - (360 - gap) / 2) * shrink * scale;
  const y = (degrees) => (top + box.height - bottom) / 2 - (degrees - middle) * scale;
  const step = GRID.filter((size) => size * scale * Math.min(shrink, 1) >= 56).pop() ?? GRID[0];
  pen.strokeStyle = style("--line");
  pen.fillStyle = style("--muted");
  pen.font = "12px system-ui, sans-serif";
  pen.lineWidth = 1;
  const line = (x1, y1, x2, y2) => { pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke(); };
  const inverse = (pixel, from, to) => (pixel - from) / (to - from);  // places of lines, in degrees
  const lonAt = (pixel) => west + inverse(pixel, x(west), x(west + 1)), latAt = (pixel) => inverse(pixel, y(0), y(1));
  const south = Math.max(latAt(box.height - bottom), -90), north = Math.min(latAt(top), 90);
  pen.textAlign = "center";
  pen.textBaseline = "top";
  for (let j = Math.ceil(lonAt(left) / step); j * step <= lonAt(box.width - right); j++) {
    line(x(j * step), y(north), x(j * step), y(south));
    pen.fillText(longitudeText(j * step, 4), x(j * step), Math.min(y(south), box.height - bottom) + 6);
  }
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (let j = Math.ceil(south / step); j * step <= north; j++) {
    line(left, y(j * step), box.width - right, y(j * step));
    pen.fillText(latitudeText(j * step, 4), left - 6, y(j * step));
  }
  const cut = west - gap / 2;  // in the midst of the gap, where rounding moves no place to the other end
  return (latitude, longitude) => [x(cut + ((longitude - cut) % 360 + 360) % 360), y(latitude)];
}
function drawCentres(pen, step) {
  pen.strokeStyle = style("--text");
  pen.lineWidth = 2;
  shownClusters().forEach((cluster) => {
    if (state.cluster !== null && state.cluster !== cluster.label) return;
    const [px, py] = placed(...step.centres[cluster.label]);
    pen.beginPath();
    pen.moveTo(px - 5, py); pen.lineTo(px + 5, py);
    pen.moveTo(px, py - 5); pen.lineTo(px, py + 5);
    pen.stroke();
  });
}
function drawNumbers(pen, step) {
  pen.font = "600 13px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const sums = step.colours.map(() => [0, 0, 0]);
  places.forEach(([px, py], row) => {
    const sum = sums[step.places[row]];
    if (sum) { sum[0] += px; sum[1] += py; sum[2] += 1; }
  });
  const wanted = shownClusters().filter(({ label }) => sums[label][2] && (state.cluster === null || state.cluster === label));
  const boxes = wanted.map(({ label }) => {
    const [px, py] = step.centres ? placed(...step.centres[label]) : sums[label].slice(0, 2).map((sum) => sum / sums[label][2]);
    return { label, px, py: step.centres ? py - 14 : py, width: pen.measureText(label).width, height: 13 };
  });
  for (const { label, px, py } of apart(boxes)) {
    pen.lineWidth = 4;
    pen.strokeStyle = style("--panel");
    pen.strokeText(label, px, py);
    pen.fillStyle = style("--text");
    pen.fillText(label, px, py);
  }
}
/* The boxes that overlap none before them: numbers of many clusters would cover each other. */
function apart(boxes) {
  const kept = [];
  for (const box of boxes) {
    const covers = (other) => Math.abs(box.px - other.px) < (box.width + other.width) / 2 + 2 && Math.abs(box.py - other.py) < box.height;
    if (!kept.some(covers)) kept.push(box);
  }
  return kept;
}
function describePoint() {
  const box = at("hover");
  if (state.point === null) {
    box.style.display = "none";
    box.textContent = "";
    return;
  }
  const own = current().places[state.point];
  const lines = data.places ? [placeText(data.points.axes.map((axis) => axis.values[state.point]))]
    : data.points.axes.slice(0, 10).map((axis) => `${axis.name}: ${valueText(axis.values[state.point], axis.unit)}`);
  box.textContent = [`${data.word} ${data.points.rows[state.point]}, ${own < 0 ? "no cluster" : nameOf(own, "cluster ")}`, ...lines].join("\n");
  box.style.display = "block";
  const [px, py] = places[state.point], map = at("map");
  const left = px + 14 + box.offsetWidth > map.clientWidth ? px - 14 - box.offsetWidth : px + 14;
  box.style.left = `${Math.max(0, left)}px`;
  box.style.top = `${Math.min(py + 10, Math.max(0, map.clientHeight - box.offsetHeight))}px`;
}
function pointAt(row) {
  state.point = row;
  drawMap();
  describePoint();
}

/* Cards, the table of features, and labels. */
function drawCards() {
  const step = current();
  const most = Math.max(1e-9, ...step.effects.flat().map(Math.abs));
  at("cards").replaceChildren(...shownClusters().map((cluster) => {
    const colour = colourOf(step.colours[cluster.label]);
    const share = cluster.size / data.n_rows;
    const effects = step.effects[cluster.label];
    const order = effects.map((_, j) => j).sort((a, b) => Math.abs(effects[b]) - Math.abs(effects[a]));
    const km = data.places ? " km" : "";
    const near = cluster.nearest < 0 ? "" : ` · nearest: ${cluster.nearest}, ${shown(cluster.nearest_distance)}${km} away`;
    const swatch = made("span", { className: "swatch" });
    swatch.style.background = colour;
    const filled = made("span");
    filled.style.width = `${100 * share}%`;
    filled.style.background = colour;
    const card = made("button", { className: "card", type: "button", "aria-pressed": state.cluster === cluster.label, "data-cluster": cluster.label },
      made("span", { className: "name" }, swatch, nameOf(cluster.label, "Cluster "),
        made("span", { className: "size" }, `${counted(cluster.size, data.word)} · ${percent(share, 1)}`)),
      made("span", { className: "share" }, filled),
      ...(step.sentences && step.sentences[cluster.label] ? [made("span", { className: "sentence" }, step.sentences[cluster.label])] : []),
      ...(step.centres ? [made("span", { className: "sentence" }, `centre ${placeText(step.centres[cluster.label])}`)] : []),
      made("span", { className: "facts" }, `spread ${shown(cluster.spread)}${km}${near}`),
      made("span", { className: "facts" }, `typical ${data.word}s: ${cluster.exemplars.join(", ")}`),
      made("span", { className: "features" }, ...order.filter((j) => effects[j]).slice(0, 4).map((j) => bar(data.features[j], effects[j], most))));
    card.querySelector(".share").style.display = "block";
    card.addEventListener("click", () => { state.cluster = state.cluster === cluster.label ? null : cluster.label; refresh(); at("cards").querySelector(`[data-cluster="${cluster.label}"]`).focus(); });
    return made("li", {}, card, ...groupButton(cluster));
  }));
  at("bars-help").hidden = data.places || step.k < 2;
  const close = at("close");
  close.hidden = state.group === null;
  close.textContent = `Back to the group ${state.group} and its siblings`;
}
/* A group can be opened if the next finer step lies inside this one. */
function groupButton(cluster) {
  const finer = data.steps[state.step - 1];
  if (!finer || !finer.parents) return [];
  const inside = finer.parents.filter((parent) => parent === cluster.label).length;
  const open = made("button", { className: "open", type: "button", "data-group": cluster.label }, `Open: ${counted(inside, "cluster")}`);
  open.addEventListener("click", () => show(state.step - 1, cluster.label));
  return [open];
}
function effectText(effect, digits) {
  return `${effect > 0 ? "+" : effect < 0 ? "−" : ""}${Math.abs(effect).toFixed(digits)}`;
}
function bar(name, effect, most) {
  const length = Math.min(1, Math.abs(effect) / most) * 50;
  const filled = made("span");
  filled.style.left = effect < 0 ? `${50 - length}%` : "50%";
  filled.style.width = `${length}%`;
  filled.style.background = `rgb(${style(effect < 0 ? "--low" : "--high")})`;
  const box = made("span", { className: "bar" }, filled);
  box.style.display = "block";
  return made("span", { className: "feature" }, made("span", { className: "label", title: name }, name), box,
    made("span", { className: "value" }, effectText(effect, 1)));
}
function drawTable() {
  const step = current();
  const columns = shownColumns(), heat = Number(style("--heat"));
  const head = made("tr", {}, made("th", { scope: "col" }, "cluster"), made("th", { scope: "col" }, `${data.word}s`),
    ...columns.map((j) => made("th", { scope: "col", title: data.features[j] }, data.features[j])));
  const rows = shownClusters().map((cluster) => {
    const swatch = made("span", { className: "swatch" });
    swatch.style.background = colourOf(step.colours[cluster.label]);
    const cells = columns.map((j) => {
      const effect = step.effects[cluster.label][j];
      const cell = made("td", { title: `${effectText(effect, 2)} standard deviations within clusters` }, step.means[cluster.label][j]);
      const strength = Math.min(1, Math.abs(effect) / 3) * heat;
      if (step.k > 1) cell.style.background = `rgba(${style(effect < 0 ? "--low" : "--high")}, ${strength})`;
      return cell;
    });
    return made("tr", {}, made("th", { scope: "row", title: nameOf(cluster.label) }, swatch, nameOf(cluster.label)), made("td", {}, cluster.size.toLocaleString("en")), ...cells);
  });
  at("table").replaceChildren(made("thead", {}, head), made("tbody", {}, ...rows));
}
/* The columns of the table: those whose names contain what is searched for, at most TABLE_COLUMNS. */
function shownColumns() {
  const wanted = at("search").value.trim().toLowerCase();
  const found = data.features.map((_, j) => j).filter((j) => data.features[j].toLowerCase().includes(wanted));
  const columns = found.slice(0, TABLE_COLUMNS), left = data.n_features - data.features.length;
  const parts = [];
  if (columns.length < data.n_features) {
    parts.push(`${columns.length} of ${counted(data.n_features, "column")} ${columns.length === 1 ? "is" : "are"} shown${wanted ? "" : "; search for others"}.`);
  }
  if (left) parts.push(`${counted(left, "column")} with small effects ${left === 1 ? "is" : "are"} not on this page.`);
  at("columns-note").textContent = parts.join(" ");
  return columns;
}
function drawLabels() {
  const step = current();
  at("download").disabled = step.labels === null;
  at("download-note").textContent = step.labels === null
    ? `The page of a large table keeps only the labels of its model; kfree cluster --lam ${step.lam} gives these.`
    : `${counted(data.n_rows, data.word)}, ${counted(step.k, "cluster")}`;
}
function labelsAsText() {
  const labels = unpacked(current().labels);
  return `${data.word},cluster\n` + labels.map((label, row) => `${cell(data.row_numbers ? data.row_numbers[row] : row + 1)},${label}\n`).join("");
  function cell(name) { return /[",\n\r]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name; }
}
function download() {
  const link = made("a", { download: `labels-${current().k}.csv`, href: URL.createObjectURL(new Blob([labelsAsText()], { type: "text/csv" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function refresh() {
  const step = current(), slider = at("slider");
  slider.value = state.step;
  const upTo = step.high === step.low ? "" : ` to ${shown(step.high)}`;
  const range = step.high === null ? `lam above ${shown(step.low)}` : `lam ${shown(step.low)}${upTo}`;
  const notes = [step.own && data.steps.length > 1 ? "this model" : "", step.k === data.suggested ? "suggested" : ""].filter(Boolean).join(", ");
  const text = `${counted(step.k, "cluster")}, ${step.note ?? range}${notes ? ` (${notes})` : ""}`;
  at("readout").textContent = text;
  slider.setAttribute("aria-valuetext", text);
  at("own").disabled = step.own;
  const noise = step.n_noise ? `, and ${counted(step.n_noise, data.word)} in no cluster` : "";
  at("cards-heading").textContent = state.group === null ? counted(step.k, "cluster") + noise
    : `${counted(shownClusters().length, "cluster")} of group ${state.group}`;
  drawStairs();
  drawMap();
  describePoint();
  drawCards();
  drawTable();
  drawLabels();
}
function show(step, group = null) {
  state.step = step;
  state.cluster = null;
  state.group = group;
  refresh();
}
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  at("theme").textContent = theme === "dark" ? "Light" : "Dark";
  refresh();
}

at("title").textContent = data.title;
if (!data.stairs.length) {
  at("stairs").remove();
  at("stairs-help").textContent = data.steps.some((step) => step.parents)
    ? "Each position is a level. Open a group to see the clusters inside it." : data.steps.length > 1
    ? "Each position is a cut of the tree. Move the slider, by mouse or with the arrow keys, to see the clusters of a cut." : "";
}
if (data.steps.length === 1) for (const part of [at("slider"), at("slider-word"), at("own")]) part.hidden = true;
at("map-heading").textContent = `Map of the ${data.word}s`;
if (data.places) {
  at("map-heading").textContent = "Map of the places";
  at("table-panel").hidden = true;
  for (const id of ["across", "up"]) at(id).parentElement.hidden = true;
}
at("map-help").textContent = `Point at a ${data.word} or tap it, or focus the map and use the arrow keys. Numbers mark the clusters, where there is room`
  + `${data.places ? ", crosses their centres. Shapes are true at the middle latitude" : ""}.`
  + `${data.steps.some((step) => step.n_noise) ? ` Grey ${data.word}s are in no cluster.` : ""}`;
at("subtitle").textContent = `${counted(data.n_rows, data.word)} · ${counted(data.n_columns, "column")} · ${counted(current().k, "cluster")}`;
at("certainty").textContent = data.certainty || "";
if (data.remarks && data.remarks.length) {
  at("remarks").hidden = false;
  at("remarks-list").append(...data.remarks.map((remark) => made("li", {}, remark)));
}
at("footer").textContent = `Made by kfree ${data.version}. This page loads nothing from elsewhere.`;
at("drawn").textContent = data.points.rows.length < data.n_rows
  ? `a sample of ${data.points.rows.length.toLocaleString("en")} ${data.word}s is drawn` : "";
const nAxes = data.points.axes.filter((axis) => axis.unit).length;
if (nAxes && nAxes < data.n_features) {
  at("drawn").textContent += `${at("drawn").textContent ? "; " : ""}menus have the ${nAxes} columns that set clusters apart most`;
}
data.steps.forEach((_, j) => at("ticks").append(made("option", { value: j })));
for (const [place, id] of [[0, "across"], [1, "up"]]) {
  at(id).append(...data.points.axes.map((axis, j) => made("option", { value: j }, axis.name)));
  at(id).value = place;
  at(id).addEventListener("change", () => pointAt(null));
}
at("slider").max = data.steps.length - 1;
at("slider").addEventListener("input", () => show(Number(at("slider").value)));
at("search").addEventListener("input", drawTable);
at("own").addEventListener("click", () => show(data.steps.findIndex((step) => step.own)));
at("close").addEventListener("click", () => show(state.step + 1));
at("download").addEventListener("click", download);
at("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
function pointNear(event) {
  const box = at("map").getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
  let best = null, nearest = 18 ** 2;
  places.forEach(([ax, ay], row) => { const gap = (ax - px) ** 2 + (ay - py) ** 2; if (gap < nearest) [best, nearest] = [row, gap]; });
  if (best !== state.point) pointAt(best);
}
// A finger that taps does not move, and leaves at once.
for (const name of ["pointermove", "pointerdown"]) at("map").addEventListener(name, pointNear);
at("map").addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") pointAt(null); });
at("map").addEventListener("keydown", (event) => {
  const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  if (event.key === "Escape") pointAt(null);
  if (!(event.key in moves)) return;
  event.preventDefault();
  const n = places.length;
  pointAt(state.point === null ? 0 : (state.point + moves[event.key] + n) % n);
});
window.addEventListener("resize", () => { drawStairs(); drawMap(); describePoint(); });
const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
setTheme(dark.matches ? "dark" : "light");
