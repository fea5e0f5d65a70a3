# case: pyrender/mesh.py
class Mesh:
    @property
    def bounds(self):
        return np.array([[np.infty, np.infty],
                         [-np.infty, -np.infty]])
