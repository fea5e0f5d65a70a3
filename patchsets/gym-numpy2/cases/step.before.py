# case: gym/utils/passive_env_checker.py
def env_step_passive_checker(env, action):
    if not isinstance(done, (bool, np.bool8)):
        warn(done)
    return isinstance(truncated, np.bool8)  # bool8
