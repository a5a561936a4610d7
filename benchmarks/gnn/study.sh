#!/usr/bin/env bash
# The runs behind docs/findings/popular-networks.md, in two parts that may run side by side:
#     bash benchmarks/gnn/study.sh card FOLDER         one graphics card, 8 cores, 25 GB of its memory
#     bash benchmarks/gnn/study.sh processor FOLDER    8 cores
# Each part resumes from what is in FOLDER. It stops after LIMIT seconds; results in the file KNOWN are not computed again.
set -u
part=$1 folder=$2 limit=${LIMIT:-100000} known=${KNOWN:-}
export PYTHONPATH="$PWD/src:$PWD" PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mkdir -p "$folder"

limited() {
    timeout $((limit > SECONDS ? limit - SECONDS : 1)) "$@"
}

study() {  # name of the step, then arguments
    local step=$1
    shift
    mapfile -t found < <(ls $known "$folder/$step"/scores-*.json 2>/dev/null)
    limited python -m benchmarks.gnn.study --out "$folder/$step" ${found:+--known "${found[@]}"} "$@" > "$folder/$step.log" 2>&1
    tail -n 3 "$folder/$step.log"
}

if [ "$part" = card ]; then
    nvidia-cuda-mps-control -d || true  # processes share the card
    [ -f "$folder/time-cuda.json" ] || limited python -m benchmarks.network_time --device cuda --out "$folder/time-cuda.json"
    study own --device cuda --workers 17 --methods message-passing-network
    known= study networks --device cuda --workers 17 --methods networks
    study ablations --device cuda --workers 4 --problems reference deep five-classes sparse --methods ablations
else
    limited python -m benchmarks.gnn.make_record --workers 8 --out "$folder/record.json"
    OMP_NUM_THREADS=8 limited python -m benchmarks.network_time --threads 8 --out "$folder/time-cpu.json"
    study reference --workers 8 --methods reference-methods
fi
