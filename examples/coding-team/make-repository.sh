#!/bin/sh
# Creates a small git repository with tests of unwritten code, to try the example on:
#
#     sh examples/coding-team/make-repository.sh /tmp/words
set -eu
mkdir -p "$1"
cd "$1"

for name in slug count; do
  cat > $name.mjs <<END
export function $name(text) {
  throw new Error("not implemented");
}
END
done

cat > words.test.mjs <<'END'
import assert from "node:assert/strict";
import test from "node:test";
import { count } from "./count.mjs";
import { slug } from "./slug.mjs";

test("a slug has small letters and digits, joined by hyphens", () => {
  assert.equal(slug("Nothing is lost, 2026!"), "nothing-is-lost-2026");
  assert.equal(slug("…"), "");
});

test("words are counted without regard to case", () => {
  assert.deepEqual(count("One step, one log. Été."), { one: 2, step: 1, log: 1, été: 1 });
});
END

git init --quiet --initial-branch=main
git add --all
git -c user.name=example -c user.email=example@example.com commit --quiet -m "Begin"
