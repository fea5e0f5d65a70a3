"""The tutorial as a reader goes through it: the real MMEngine fails, and trains once the patch is applied."""

import pytest
from wheels import slow

from tests.docs import World, run_page

pytestmark = pytest.mark.real


@slow
def test_each_command_of_the_tutorial_says_what_it_shows(environment, tmp_path, counted):
    world = World(tmp_path / "world", real=environment.root, torchrun='exec "$VIRTUAL_ENV/bin/python" -m torch.distributed.run "$@"')
    counted("commands of the tutorial, with the real packages", run_page("docs/tutorial.md", world, real=True))
