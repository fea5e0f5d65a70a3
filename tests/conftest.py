"""Shared by all tests: assertions in helper modules are explained like those in tests; the points that were tried are counted."""

import os
import signal

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts what runs in its background so, and children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
pytest.register_assert_rewrite(
    "tests.command", "tests.docs", "tests.engine.helpers", "tests.faults.cases", "tests.hooks", "tests.imports", "tests.installers.world",
    "tests.overlays", "tests.patchsets.ddp", "tests.store.helpers", "tests.verbs.golden",
    "cards", "cures", "diagnoses", "mmengine_ranks", "wheels",  # of tests/real
)  # fmt: skip
_HEEDED = ("SITEPATCH_", "_SITEPATCH_", "SOURCE_DATE_EPOCH", "SUDO_UID", "GITHUB_WORKSPACE")  # by sitepatch
_OF_THE_TESTS = ("SITEPATCH_ALL_", "SITEPATCH_TEST_", "SITEPATCH_WRITE_")
for _name in list(os.environ):
    if _name.startswith(_HEEDED) and not _name.startswith(_OF_THE_TESTS):
        del os.environ[_name]  # whatever is set where the tests run
os.umask(0o022)  # whatever it is there; some tests act as other users below directories that are made here
os.environ["SITEPATCH_LANG"] = "en"
os.environ["SITEPATCH_CACHE"] = os.devnull  # nothing can be kept there: no test knows what another one has worked out

_COUNTS = pytest.StashKey()
_STORE = "tests/store/test_store.py::test_"
QUICK = (  # what `-m quick` is: some of each package, in less than half a minute on two cores. A test's name begins with one of these.
    "tests/engine/test_rules", "tests/engine/test_layouts.py::test_a_rewrite", "tests/engine/test_every_line", "tests/planner/test_merge.py", "tests/test_suite.py",
    "tests/project/test_project.py", "tests/text/test_report.py", "tests/project/test_requirements.py", "tests/test_fixture.py::test_every_shape",
    "tests/patchset/test_patchset.py::test_two_ranges_overlap", "tests/patchset/test_patchset.py::test_the_variant_is_the_first",
    f"{_STORE}apply_then_restore", f"{_STORE}update_keeps", f"{_STORE}twins_share", "tests/store/test_prepare.py::test_what_has_changed_since",
    f"{_STORE}a_path_out_of", "tests/installed/test_interpreter.py::test_what_a_virtual_environment_shares",
    "tests/store/test_bytecode.py::test_no_form_of_bytecode_outlives_the_source_it_was_made_of[TIMESTAMP", "tests/test_round_trip.py::test_what_is_applied_can_be_seen",
    "tests/verify/test_verify.py::test_a_patch_that_breaks_the_import",
    "tests/hook/test_hook.py::test_the_hook_writes_what_apply_writes", "tests/overlay/test_overlay.py::test_an_overlay_has_the_same_bytes_as_apply",
    "tests/verbs/test_run.py::test_what_is_named_is_applied", "tests/verbs/test_sync.py::test_what_is_missing_is_applied",
    "tests/verbs/test_check.py::test_check_here_fails",
    "tests/verbs/test_doctor.py::test_in_a_clean_environment", "tests/verbs/test_explain_command.py::test_a_renamed_argument",
    "tests/diagnosis/test_ddp_report.py::test_ranks_with_nothing_wrong_are_well", "tests/diagnosis/test_ddp_report.py::test_parameters_on_several_devices_are_reported",
)  # fmt: skip
_REAL, _INSTALLERS = "tests/real/test_", "tests/installers/test_"
CHOSEN = (  # of the tests with real packages and tools one of each kind, and of the long ones: plain `pytest` has them, too
    "tests/engine/test_explained.py",
    f"{_REAL}mmengine_ddp.py::test_ranks_on_the_cpu_train", f"{_REAL}torch.py::test_a_stock_torch", f"{_REAL}accelerate.py",
    f"{_REAL}diagnose.py::test_the_errors_that_are_raised", "tests/verify/test_verify.py::test_killed_while_verifying",
)  # fmt: skip

LONG = (  # marked `once` here: the rest of their files is short
    "tests/author/test_folder.py::test_a_process_that_dies", "tests/author/test_import_series.py", "tests/author/test_lint.py", "tests/diagnosis/test_issues.py",
    "tests/engine/test_lists.py::test_the_other_elements", "tests/engine/test_steps.py", "tests/hook/test_hook_boot.py::test_odd", "tests/patchset/test_results.py::test_a_result_comes",
    "tests/planner/test_plan.py::test_two_patchsets_that", "tests/test_deleted_files.py::test_an_upgrade", "tests/test_other_files.py::test_a_hook", "tests/test_round_trip.py::test_every_release",
    "tests/test_imports.py::test_what_is_applied", "tests/test_imports.py::test_a_first", "tests/test_imports.py::test_restoring", "tests/test_imports.py::test_many",
    "tests/test_receipts.py::test_a_patchset_is_restored", "tests/test_receipts.py::test_an", "tests/test_receipts.py::test_of_two", "tests/test_receipts.py::test_only_a_different", "tests/test_receipts.py::test_what_a_reinstall",
    "tests/verbs/test_command_line.py::test_with_json", "tests/verbs/test_hook_start.py::test_a_lock", "tests/verbs/test_hook_start.py::test_without_a_record", "tests/verbs/test_ops.py::test_the",
    *(f"tests/verify/test_verify.py::test_{promise}" for promise in ("a_module_that_was_broken", "a_time", "bytecode", "however", "odd", "the_place")),
)  # fmt: skip
SAMPLED = (  # one promise at many points, calls or errors: of each long test in these CI runs the first two rows, `nox -s slow` the others
    "tests/faults/", "tests/hook/", "tests/installed/", "tests/overlay/", "tests/patchsets/", "tests/store/", "tests/system/", "tests/test_races.py", "tests/verify/",
    "tests/verbs/test_commands.py", "tests/verbs/test_doctor.py", "tests/verbs/test_sync.py",
)  # fmt: skip
_DIAGNOSE, _LANGUAGE = "tests/diagnosis/test_diagnose.py::test_", "tests/display/test_language.py::test_"
SLOW = (  # of the long tests those that have a command of their own, `nox -s slow`: more than an hour on two cores
    "tests/real/", "tests/installers/", "tests/engine/test_properties.py", "tests/author/test_random_edits.py", "tests/author/test_export.py",
    "tests/author/test_update.py", "tests/test_travel.py", "tests/test_foreign.py", "tests/store/test_bytecode.py", "tests/test_places.py",
    "tests/hook/test_hook_starts.py", "tests/hook/test_hook.py::test_a_line_with_a_directory", "tests/patchsets/test_accelerate_hygiene.py", "tests/patchsets/test_triton_path.py",
    "tests/faults/test_multisite.py::test_a_kill_between",
    "tests/faults/test_multisite.py::test_what_can_neither", "tests/faults/test_commands.py::test_recovery_may", "tests/faults/test_commands.py::test_interrupted_at", "tests/faults/test_commands.py::test_one_failing",
    "tests/faults/test_commands.py::test_a_disk", "tests/faults/test_sync.py", "tests/faults/test_soak.py",
    "tests/faults/test_power_cuts.py::test_without_any_one", "tests/store/test_store.py::test_recovery_itself", "tests/verbs/test_texts.py",
    "tests/author/test_written.py", "tests/diagnosis/test_issues.py", "tests/engine/test_explain.py", "tests/verbs/test_explain_command.py",
    *(f"{_STORE}killed_anywhere_recovery_gives_all_old_or_all_new[{change}" for change in ("update", "add", "mixed", "take away")),
    *(f"{_STORE}a_call_that_fails_leaves_all_old_or_all_new_at_once[{change}" for change in ("update", "add", "mixed", "restore", "take away")),
    *(f"tests/faults/test_commands.py::test_killed_{when}_a_command_is_done_or_undone[update]" for when in ("before_and_after_every_call", "half_way_through_every_write")),
    *(f"tests/faults/test_mounts.py::test_{promise}" for promise in ("recovery_that_undoes_may_be_killed", "a_lost_prepared_file")),
    "tests/faults/test_mounts.py::test_killed_anywhere_the_next_command_undoes_it_or_finishes_it_where_it_now_can[mixed]",
    "tests/diagnosis/test_ddp_report.py::test_nothing_that_repeats", "tests/diagnosis/test_ddp_report.py::test_sixty_megabytes",
    "tests/test_races.py::test_rounds", "tests/verbs/test_sync.py::test_eight_at_once", "tests/hook/test_hook.py::test_eight_starts_at_once",
    "tests/overlay/test_overlay.py::test_many_processes_make", "tests/planner/test_plan.py::test_what_remains_applied",
    *(f"tests/engine/test_layouts.py::test_{promise}[a megabyte" for promise in ("an_insertion_adds_whole_lines_in_the_files_own_layout", "a_deletion_takes_whole_lines", "a_rewrite_changes_its_expression_alone")),
    *(f"tests/verbs/test_check.py::test_an_older_pip_lists_and_reads_the_same[{pip}]" for pip in ("23.0.1", "24.3.1")),
    *(f"{_STORE}{test}" for test in ("killed_anywhere_recovery_gives_all_old_or_all_new[change", "killed_anywhere_recovery_gives_all_old_or_all_new[bring back", "recovery_leaves_a_package")),
    "tests/faults/test_commands.py::test_killed_before_and_after_every_call_a_command_is_done_or_undone[apply]", "tests/faults/test_commands.py::test_a_write_that", "tests/faults/test_disks.py::test_a_power_cut",
    *(f"tests/verbs/test_golden.py::test_the_answers_are_those_of_the_golden_file[{scenario}]" for scenario in (
        "capture", "check-explain", "damaged", "diagnose", "diagnose-fits", "diff", "doctor", "edited-elsewhere", "export", "hook", "overwritten", "run-overlay", "status-verify", "update",
    )),
    *(f"{_DIAGNOSE}{test}" for test in ("a_rank_that_waited", "an_error_is_recognised_by_each", "the_command_that", "the_rank_that_failed")),
    *(f"{_LANGUAGE}{test}" for test in ("commands_keep", "each_message_is_found")),
    "tests/test_fuzz.py", "tests/test_walk.py", "tests/engine/test_programs.py::test_a_hunk_says", "tests/engine/test_steps.py", "tests/engine/test_lists.py", "tests/installed/test_credentials.py",
    "tests/verbs/test_commands.py::test_the_order", "tests/verbs/test_sync.py::test_after_a_reinstall", "tests/verbs/test_doctor.py::test_bytecode", "tests/planner/test_plan.py::test_every_order",
    "tests/author/test_folder.py::test_a_process_that_dies", "tests/patchsets/test_device_helper.py::test_a_torch_for_cuda", "tests/patchsets/test_device_helper.py::test_with_cuda",
    "tests/test_races.py::test_apply_and_restore", "tests/test_races.py::test_a_reader_", "tests/test_docs.py::test_the_recording", "tests/display/test_pages.py::test_two_hundred",
    "tests/display/test_hostile_text.py", "tests/faults/test_system_calls.py", "tests/hook/test_hook.py::test_a_start_that_is_killed", "tests/diagnosis/test_diagnose.py::test_the_work_grows",
)  # fmt: skip


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="all tests; else, unless some are named, a selection of each kind")


def pytest_configure(config):
    some_are_named = config.args != config.getini("testpaths") or config.option.markexpr or config.option.keyword
    config.option.all = config.option.all or bool(some_are_named)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.nodeid.startswith(QUICK):
            item.add_marker("quick")
        if item.nodeid.startswith(LONG):
            item.add_marker("once")
    slow = _later_rows([item for item in items if item.nodeid.startswith(SAMPLED) and _is_long(item)])
    for item in items:
        if item.nodeid in slow or (item.nodeid.startswith(SLOW) and _is_long(item)):
            item.add_marker("slow")
    if not config.option.all:
        chosen = [item for item in items if _is_chosen(item)]
        config.hook.pytest_deselected(items=[item for item in items if not _is_chosen(item)])
        items[:] = chosen


def _later_rows(items):
    """The ids of those that are the third or a later row of a test."""
    rows = {}
    for item in items:
        rows.setdefault((item.path, item.originalname), []).append(item)
    later = set()
    for of_test in rows.values():
        of_test.sort(key=_row)
        later.update(item.nodeid for item in of_test[2:])
    return later


def _row(item):
    """Where an item stands among the rows of its test."""
    return tuple(item.callspec.indices.values()) if hasattr(item, "callspec") else ()


def _is_long(item):
    return item.get_closest_marker("real") or item.get_closest_marker("once")


def _is_chosen(item):
    return bool(not _is_long(item) or item.get_closest_marker("quick") or item.nodeid.startswith(CHOSEN))


@pytest.fixture(autouse=True)
def heard():
    """No test leaves Ctrl-C ignored behind, which the children of all later tests would inherit."""
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def site(tmp_path, request):
    """A `--target` directory with the stand-ins that STAND_INS of the module names; by default that of MMEngine."""
    from tests.command import Site

    return Site(tmp_path, *getattr(request.module, "STAND_INS", ("mmengine-0.10.7",)))


@pytest.fixture
def counted(request):
    """Call `counted(what, number)` with the points that a test has tried; their sums stand at the end of the run."""
    counts = request.config.stash.setdefault(_COUNTS, {})

    def count(what, number):
        assert number > 0, what
        counts[what] = counts.get(what, 0) + number
        print(f"{request.node.name}: {number} {what}")

    return count


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["counts"] = session.config.stash.get(_COUNTS, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    counts = node.config.stash.setdefault(_COUNTS, {})
    for what, number in getattr(node, "workeroutput", {}).get("counts", {}).items():
        counts[what] = counts.get(what, 0) + number


def pytest_terminal_summary(terminalreporter, config):
    counts = config.stash.get(_COUNTS, {})
    if counts:
        terminalreporter.section("tried")
        terminalreporter.line(", ".join(f"{what}: {number}" for what, number in sorted(counts.items())))
