import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programOf } from "./programs.ts";

test("a program that is installed in a home directory shows its libraries, and nothing else there", () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-program-")));
  try {
    for (const path of ["bin", "lib/agent", ".ssh", "share/keyrings"])
      mkdirSync(join(home, path), { recursive: true });
    const path = join(home, "bin/agent");
    writeFileSync(path, "#!/bin/sh\n", { mode: 0o755 });
    const needs = programOf("agent", { PATH: join(home, "bin") })?.needs ?? [];
    expect(needs.filter((one) => one.startsWith(home))).toEqual([
      path,
      join(home, "bin"),
      join(home, "lib"),
    ]);
  } finally {
    rmSync(home, { recursive: true });
  }
});
