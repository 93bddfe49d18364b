import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tryMutation } from "./mutated-commands.ts";

setDefaultTimeout(1_200_000);

test.each(["claude", "codex", "cursor"] as const)(
  "the output of %s with many random changes yields the answer or a readable error",
  async (name) => {
    const folder = mkdtempSync(join(tmpdir(), "uncaged-commands-"));
    for (let seed = 1_000; seed < 6_000; seed += 1) await tryMutation(folder, name, seed);
    rmSync(folder, { recursive: true });
    expect.hasAssertions();
  },
);
