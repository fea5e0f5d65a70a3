class Mesh:
    @property
    def bounds(self):
        return np.array([[np.inf, np.inf],
                         [-np.inf, -np.inf]])
