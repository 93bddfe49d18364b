#!/bin/sh
# Creates a small git repository with a failing test, to try the example on:
#
#     sh examples/solve-issue/make-repository.sh /tmp/median
set -eu
mkdir -p "$1"
cd "$1"

cat > median.mjs <<'END'
/** Returns the median of some numbers. */
export function median(numbers) {
  const sorted = numbers.sort();
  return sorted[Math.floor(sorted.length / 2)];
}
END

cat > median.test.mjs <<'END'
import assert from "node:assert/strict";
import test from "node:test";
import { median } from "./median.mjs";

test("of an odd number of numbers it is the middle one", () => {
  assert.equal(median([3, 1, 2]), 2);
});

test("of an even number it is between the two in the middle", () => {
  assert.equal(median([4, 1, 3, 2]), 2.5);
});

test("numbers are not sorted as words", () => {
  assert.equal(median([10, 9, 1]), 9);
});

test("the given list does not change", () => {
  const numbers = [3, 1, 2];
  median(numbers);
  assert.deepEqual(numbers, [3, 1, 2]);
});
END

git init --quiet --initial-branch=main
git add --all
git -c user.name=example -c user.email=example@example.com commit --quiet -m "Begin"
