# case: hydra/conf/__init__.py
from dataclasses import dataclass, field


@dataclass
class RunDir:
    name: str = ""


@dataclass
class SweepDir:
    name: str = ""


@dataclass
class HelpConf:
    name: str = ""


@dataclass
class HydraHelpConf:
    name: str = ""


@dataclass
class OverridesConf:
    name: str = ""


@dataclass
class RuntimeConf:
    name: str = ""


@dataclass
class JobConf:
    @dataclass
    class JobConfig:
        @dataclass
        class OverrideDirname:
            kv_sep: str = "="

        override_dirname: OverrideDirname = OverrideDirname()

    config: JobConfig = JobConfig()


@dataclass
class HydraConf:
    run: RunDir = RunDir()
    sweep: SweepDir = SweepDir()
    help: HelpConf = HelpConf()
    hydra_help: HydraHelpConf = HydraHelpConf()
    overrides: OverridesConf = OverridesConf()
    job: JobConf = JobConf()
    runtime: RuntimeConf = RuntimeConf()
