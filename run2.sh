cd /tmp/texts/q; export PYTHONPATH=/work/wt/texts PAGER=cat COLUMNS=120 NO_COLOR=1
P=/work/env/venv-texts/bin/python
S=/tmp/texts/v/lib/python3.11/site-packages/tiny
$P -m patcher apply bad --python /tmp/texts/v -q
echo "# mine" >> $S/bad.py
echo "== restore --force"; $P -m patcher restore bad --python /tmp/texts/v --discard-edits || $P -m patcher restore -h | grep -i -B1 "edits"
echo "== status"; $P -m patcher status --python /tmp/texts/v
echo "== status -v"; $P -m patcher status -v --python /tmp/texts/v
