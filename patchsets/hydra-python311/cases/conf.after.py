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

        override_dirname: OverrideDirname = field(default_factory=OverrideDirname)

    config: JobConfig = field(default_factory=JobConfig)


@dataclass
class HydraConf:
    run: RunDir = field(default_factory=RunDir)
    sweep: SweepDir = field(default_factory=SweepDir)
    help: HelpConf = field(default_factory=HelpConf)
    hydra_help: HydraHelpConf = field(default_factory=HydraHelpConf)
    overrides: OverridesConf = field(default_factory=OverridesConf)
    job: JobConf = field(default_factory=JobConf)
    runtime: RuntimeConf = field(default_factory=RuntimeConf)
