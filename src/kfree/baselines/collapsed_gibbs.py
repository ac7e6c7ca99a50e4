"""CollapsedGibbsDPMixture: Gaussians of any shape, of which labels alone are sampled (MacEachern & Müller 1998)."""

import math

import numpy as np
from scipy.special import gammaln

from kfree.baselines._sampling import Sampler, draw_alpha, log_urn
from kfree.models.bayesian_rows import GaussianData
from kfree.native.implementations import implementation
from kfree.validation.parameters import require


class CollapsedGibbsDPMixture(Sampler):
    """A Dirichlet process mixture of Gaussians with full covariance matrices by collapsed Gibbs sampling.

    Means and covariances are integrated out; a sweep draws the label of each row given all other labels (Neal 2000,
    Algorithm 3). The model is that of :class:`kfree.BayesianKMeans` with ``mixture="dirichlet-process"``. There are no
    split-merge moves; the sampler is a baseline for comparison.

    Parameters
    ----------
    alpha : float or "gamma", default="gamma"
        The concentration; "gamma" samples it under the prior ``Gamma(*alpha_prior)``.
    prior : "data" or dict, default="data"
        Hyper-parameters of the Gaussians: Eq. 21 of Kurihara & Welling (2009), or a dict with some of the keys
        ``xi0, m0, eta0, B0``, the others being as with "data".
    alpha_prior : (float, float), default=(1.0, 1.0)
        Shape and rate of a Gamma distribution.
    n_burn_in : int, default=1000
        Sweeps before the first sample.
    n_samples : int, default=500
    thin : int, default=10
        Sweeps per sample.
    keep_samples : bool, default=False
        Whether to keep the labels of all samples.
    engine : {"auto", "native", "reference"}, default="auto"
        Compiled code or the reference implementation in NumPy. Same samples.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples_X,), int32
        Labels of the sample with the highest log joint.
    n_clusters_ : int
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
    covariances_ : ndarray of shape (n_clusters_, n_features, n_features)
        The inverse of each cluster's mean precision given ``labels_``.
    prior_ : dict
        The hyper-parameters that were used.
    trace_ : dict of ndarray of shape (n_samples,)
        "iteration", "n_clusters", "log_joint" (log p(X, z, α)), "alpha"; "sigma" is NaN in this model.
    label_samples_ : ndarray of shape (n_samples, n_samples_X) or None
    n_iter_ : int
        Sweeps.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.baselines import CollapsedGibbsDPMixture
    >>> X = np.random.default_rng(0).normal(size=(90, 2)) + 9 * np.arange(90)[:, None] % 27
    >>> CollapsedGibbsDPMixture(alpha=1.0, n_burn_in=200, n_samples=50, random_state=0).fit(X).n_clusters_
    3
    """

    def __init__(
        self,
        alpha="gamma",
        *,
        prior="data",
        alpha_prior=(1.0, 1.0),
        n_burn_in=1000,
        n_samples=500,
        thin=10,
        keep_samples=False,
        engine="auto",
        random_state=None,
    ):
        self.alpha = alpha
        self.prior = prior
        self.alpha_prior = alpha_prior
        self.n_burn_in = n_burn_in
        self.n_samples = n_samples
        self.thin = thin
        self.keep_samples = keep_samples
        self.engine = engine
        self.random_state = random_state

    def _log_weights(self, X):
        rows = GaussianData(X, self, self._frame_).rows
        return self._model_.log_predictive(self._stats_, rows) + np.log(self._stats_.n)

    def _check_parameters(self):
        self._check_sampling()
        ok = isinstance(self.prior, dict) or (isinstance(self.prior, str) and self.prior == "data")
        require(ok, "prior", self.prior, "'data' or a dict with some of the keys xi0, m0, eta0, B0")
        if isinstance(self.prior, dict):
            require("phi0" not in self.prior, "prior", "{'phi0': …}", "a dict without phi0; give alpha instead")

    def _open(self, X, rng):
        data = GaussianData(X, self)
        model, _ = data.model(self.prior, rng)
        alpha, alpha_prior = self._alpha()
        make = implementation(self.engine, "samplers").CollapsedChain
        return _Chain(make, data, data.open(self.engine, "brute", 1), model, rng, alpha, alpha_prior)

    def _publish_best(self, chain, labels, sigma):
        self._frame_, self._model_ = chain.data.frame, chain.model
        self._stats_ = chain.engine.moments(labels, int(labels.max()) + 1)
        self.cluster_centers_ = chain.data.centres(chain.model, self._stats_)
        self.covariances_ = chain.model.covariances(self._stats_)
        self.prior_ = {key: value for key, value in chain.data.prior_of(chain.model, None).items() if key != "phi0"}


class _Chain:
    """The compiled chain, with α drawn after every sweep if it has a prior."""

    sigma = math.nan

    def __init__(self, make, data, engine, model, rng, alpha, alpha_prior):
        self.data, self.engine, self.model = data, engine, model
        self.alpha, self._alpha_prior = alpha, alpha_prior
        rows = np.ascontiguousarray(data.rows - model.m0)
        labels = np.zeros(len(rows), dtype=np.int32)
        prior = model.xi0, model.eta0, np.ascontiguousarray(model.B0), log_predictive_at_centre(model, len(rows))
        self._chain = make(rows, labels, int(rng.randint(2**31)), *prior)

    @property
    def labels(self):
        return self._chain.labels.copy()

    @property
    def n_clusters(self):
        return len(self._chain.counts)

    def sweep(self, rng):
        self._chain.sweep(math.log(self.alpha))
        if self._alpha_prior:
            self.alpha = draw_alpha(self.alpha, self.n_clusters, len(self.data.rows), self._alpha_prior, rng)

    def log_joint(self):
        """log p(X, z, α), or log p(X, z) where α is given."""
        stats = self.engine.moments(self.labels, self.n_clusters)
        total = log_urn(self._chain.counts, self.alpha) + math.fsum(self.model.log_evidence(stats))
        return total + (self._alpha_prior.log_density(self.alpha) if self._alpha_prior else 0.0)


def log_predictive_at_centre(model, n_rows):
    """For clusters of 0, …, n rows: the log density of another row at their mean, but for −½·log det B."""
    n_features, count = len(model.m0), np.arange(n_rows + 1)
    xi, eta = model.xi0 + count, model.eta0 + count
    log_gammas = gammaln((eta + 1) / 2) - gammaln((eta + 1 - n_features) / 2)
    return log_gammas - n_features / 2 * np.log(math.pi * (xi + 1) / xi)
