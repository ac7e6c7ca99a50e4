"""The preprocessing of the papers: arrays in, rows to cluster out."""

import numpy as np

# The ellipsoid of the World Geodetic System 1984: equatorial radius in km, and flattening.
EQUATORIAL_RADIUS_KM = 6378.137
FLATTENING = 1 / 298.257223563


def earth_centred(latitude_longitude_depth):
    """Degrees north and east and km below ground as a point in space, in equatorial radii (Odashima et al. 2016)."""
    latitude, longitude = np.radians(latitude_longitude_depth[:, :2]).T
    height = -latitude_longitude_depth[:, 2]
    polar = (1 - FLATTENING) ** 2
    normal = EQUATORIAL_RADIUS_KM / np.sqrt(1 - (1 - polar) * np.sin(latitude) ** 2)
    from_axis = (normal + height) * np.cos(latitude)
    above_equator = (normal * polar + height) * np.sin(latitude)
    points = [from_axis * np.cos(longitude), from_axis * np.sin(longitude), above_equator]
    return np.column_stack(points) / EQUATORIAL_RADIUS_KM


def principal(n_components):
    """Project to the first principal components, each scaled to variance one."""

    def project(X):
        from sklearn.decomposition import PCA

        pca = PCA(n_components, svd_solver="randomized", whiten=True, random_state=0)
        return pca.fit_transform(np.asarray(X, dtype=np.float64))

    return project


def hundredths(X100):
    """Whole hundredths as numbers (KDD Cup 2004, where all values have two decimals)."""
    return X100 / 100


def halved_image(X):
    """Images of 16 × 16 pixels as 8 × 8, the mean of four pixels each (Kurihara & Welling 2009)."""
    return X.reshape(-1, 8, 2, 8, 2).mean(axis=(2, 4)).reshape(-1, 64)
