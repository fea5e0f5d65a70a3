cd /tmp/texts/q; export PYTHONPATH=/work/wt/texts PAGER=cat COLUMNS=120 NO_COLOR=1
P=/work/env/venv-texts/bin/python
echo "== apply bad"; $P -m patcher apply bad --python /tmp/texts/v
echo "== check three"; $P -m patcher check three --python /tmp/texts/v
echo "== check"; $P -m patcher check three bad --python /tmp/texts/v
echo "== restore"; $P -m patcher restore --python /tmp/texts/v
echo "== hook"; $P -m patcher hook init h1 bad --help | head -5
