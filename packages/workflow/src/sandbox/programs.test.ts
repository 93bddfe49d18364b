import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { programOf } from "./programs.ts";

const home = realpathSync(mkdtempSync(join(tmpdir(), "programs-")));
afterAll(() => rmSync(home, { recursive: true, force: true }));

// The target of the link ~/.local/bin/agent, and its parts that must be visible.
test.each([
  [".local/share/agent/versions/1.0/agent", [".local/share/agent/versions/1.0"]],
  [".local/lib/agent/1.0/agent", [".local/lib/agent/1.0"]],
  // Folders like these may also contain user data.
  [".local/share/agent/agent", []],
  ["notes/share/agent/1.0/agent", []],
])("a program at %s needs its file and the folder of its version only", (path, parts) => {
  const program = join(home, path);
  const bin = mkdtempSync(join(home, "bin-"));
  mkdirSync(dirname(program), { recursive: true });
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  symlinkSync(program, join(bin, "agent"));
  const { needs = [] } = programOf("agent", { PATH: bin }) ?? {};
  expect(needs.filter((one) => one.startsWith(home))).toEqual([
    program,
    ...parts.map((part) => join(home, part)),
  ]);
});

test("a program installed in a home directory shows only its libraries from that directory", () => {
  const own = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-program-")));
  try {
    for (const path of ["bin", "lib/agent", ".ssh", "share/keyrings"])
      mkdirSync(join(own, path), { recursive: true });
    const path = join(own, "bin/agent");
    writeFileSync(path, "#!/bin/sh\n", { mode: 0o755 });
    const needs = programOf("agent", { PATH: join(own, "bin") })?.needs ?? [];
    expect(needs.filter((one) => one.startsWith(own))).toEqual([
      path,
      join(own, "bin"),
      join(own, "lib"),
    ]);
  } finally {
    rmSync(own, { recursive: true });
  }
});
