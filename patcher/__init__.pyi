from patcher.place import Events as Events
from patcher.place import Place as Place
from patcher.project.request import ProjectFiles as ProjectFiles
from patcher.verbs.apply import apply as apply
from patcher.verbs.capture import adopt as adopt
from patcher.verbs.capture import capture as capture
from patcher.verbs.check import check as check
from patcher.verbs.diagnose import diagnose as diagnose
from patcher.verbs.diff import diff as diff
from patcher.verbs.doctor import doctor as doctor
from patcher.verbs.edit import edit as edit
from patcher.verbs.export import export as export
from patcher.verbs.import_ import import_ as import_
from patcher.verbs.list import list_patchsets as list_patchsets
from patcher.verbs.restore import restore as restore
from patcher.verbs.show import show as show
from patcher.verbs.status import status as status
from patcher.verbs.sync import sync as sync
from patcher.verbs.update import copy_release as copy_release
from patcher.verbs.update import update as update

__version__: str
