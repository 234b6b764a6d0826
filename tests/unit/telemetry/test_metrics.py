"""The text format of Prometheus, version 0.0.4."""

from quinion.telemetry.metrics import CallMetrics, Family, render


def test_a_family_has_its_help_its_type_and_its_samples() -> None:
    family = Family("jobs", "gauge", "Jobs that wait.").add(2, kind="documents").add(0.5)
    assert render([family]) == (
        '# HELP jobs Jobs that wait.\n# TYPE jobs gauge\njobs{kind="documents"} 2\njobs 0.5\n'
    )


def test_labels_are_escaped() -> None:
    assert 'x{a="\\"\\\\\\n"} 1\n' in render([Family("x", "gauge", "X.").add(1, a='"\\\n')])


def test_a_family_without_samples_is_left_out() -> None:
    assert render([Family("x", "gauge", "X.")]) == ""


def test_calls_errors_and_durations_are_counted_by_tool() -> None:
    calls = CallMetrics("docvec")
    for duration_s in (0.005, 0.2, 700.0):
        calls.observe("search", "", duration_s)
    calls.observe("search", "query_failed", 0.2)
    text = render(calls.collect())
    labels = 'server="docvec",tool="search"'
    for line in (
        f"quinion_calls_total{{{labels}}} 4",
        f'quinion_call_errors_total{{{labels},code="query_failed"}} 1',
        f'quinion_call_duration_seconds_bucket{{{labels},le="0.005"}} 1',
        f'quinion_call_duration_seconds_bucket{{{labels},le="0.25"}} 3',
        f'quinion_call_duration_seconds_bucket{{{labels},le="600"}} 3',
        f'quinion_call_duration_seconds_bucket{{{labels},le="+Inf"}} 4',
        f"quinion_call_duration_seconds_sum{{{labels}}} 700.405",
        f"quinion_call_duration_seconds_count{{{labels}}} 4",
        'quinion_calls_active{server="docvec"} 0',
    ):
        assert line in text.splitlines()
