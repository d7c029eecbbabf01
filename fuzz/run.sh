#!/usr/bin/env bash
# Coverage-guided fuzzing of the trace readers, and of what `manx serve` reads of strangers (`serve-*`), with libFuzzer, on
# stable Rust.
#
#   fuzz/run.sh SECONDS FORMAT..   each format for so many seconds, one after the other, on JOBS cores (default 1)
#   AT_ONCE=N fuzz/run.sh ..       N formats at a time
#   fuzz/run.sh SECONDS            the same for every format, and for the sniffer (`any`)
#   PROFILE=minute fuzz/run.sh ..  a quicker build, for few seconds of each
#
# The corpus of a format is fuzz/corpus/FORMAT: hand-made traces and what libFuzzer found worth keeping. What is found
# now goes to fuzz/target/found/FORMAT; `fuzz/run.sh merge FORMAT..` keeps what adds coverage. A crash is left in
# fuzz/target/artifacts/FORMAT and ends the run with an error.
set -euo pipefail
cd "$(dirname "$0")"

# What cargo-fuzz asks of the compiler, without the sanitizers, which need a nightly one: the readers have no unsafe code, `serve` a
# little, around memory that a guest shares.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-trace-compares
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table --cfg=fuzzing"
host="$(rustc -vV | sed -n 's/^host: //p')"
# With --target the flags do not reach build scripts.
profile="${PROFILE:-release}"
RUSTFLAGS="$coverage" cargo build --profile "$profile" --quiet --target "$host"
binaries="target/$host/$profile"

what="${1:?usage: fuzz/run.sh SECONDS|merge [FORMAT..]}"
shift
if [ $# -gt 0 ]; then formats=("$@"); else formats=($(ls corpus)); fi

one() {
    local format="$1" what="$2" binary="$3/trace" log executed
    case "$format" in serve-*) binary="$3/serve" ;; esac
    if [ "$format" = any ]; then unset MANX_FUZZ_FORMAT; else export MANX_FUZZ_FORMAT="$format"; fi
    mkdir -p "target/found/$format" "target/artifacts/$format" "corpus/$format"
    if [ "$what" = merge ]; then
        "$binary" -merge=1 "corpus/$format" "target/found/$format" 2>&1 | tail -n 1
        return
    fi
    log="target/$format.log"
    # 512 MiB and 10 s for one input are far more than a reader may need for 4 KiB.
    if ! "$binary" -max_total_time="$what" -max_len=4096 -timeout=10 -rss_limit_mb=512 -seed=1 -print_final_stats=1 \
        ${JOBS:+-fork=$JOBS} -artifact_prefix="target/artifacts/$format/" "target/found/$format" "corpus/$format" \
        >"$log" 2>&1; then
        tail -n 40 "$log"
        echo "$format: FAILED; the input is in fuzz/target/artifacts/$format"
        # xargs ends at once.
        exit 255
    fi
    executed="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
    echo "$format: ${executed:-$(grep -c . "$log")} inputs in $what s, no fault"
}
export -f one
printf '%s\n' "${formats[@]}" | xargs -P "${AT_ONCE:-1}" -I{} bash -euo pipefail -c 'one "$@"' one {} "$what" "$binaries"
