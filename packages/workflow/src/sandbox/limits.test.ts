import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Readable, Writable } from "node:stream";
import { defaultLimits, holdsIn, limitCommand, type StepLimits } from "./limits.ts";

const isLinux = process.platform === "linux";
const limits: StepLimits = { memory: 1024 ** 3, cpus: 2, processes: 100, disk: 1024 ** 2 };

test("control group limits count only if the group's files contain them", () => {
  expect(holdsIn("1073741824\n0\n200000 100000\n100\n", limits)).toBe(true);
  for (const files of [
    ...["", "max\n0\n200000 100000\n100\n", "1073741824\n0\nmax 100000\n100\n"],
    ...["1073741824\n0\n100\n", "1073741824\nmax\n200000 100000\n100\n"],
    ...["2147483648\n0\n200000 100000\n100\n", "1073741824\n0\n300000 100000\n100\n"],
    ...["1073741824\n0\n200000 100000\nmax\n", "1073741824\n0\n200000 100000\n101\n"],
    "1073741824\n0\n200000 100000\n",
  ])
    expect([files, holdsIn(files, limits)]).toEqual([files, false]);
});

describe.skipIf(!isLinux)("the command line prefix for bubblewrap", () => {
  let bin = "";
  beforeEach(() => void (bin = mkdtempSync(join(tmpdir(), "uncaged-bin-"))));
  afterEach(() => rmSync(bin, { recursive: true, force: true }));

  /** Creates a service manager that starts the given command. `rest` is appended to its script. */
  function withManager(rest: string): Record<string, string> {
    const manager = `#!/bin/sh\n${rest}\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n`;
    writeFileSync(join(bin, "systemd-run"), manager, { mode: 0o755 });
    return { PATH: `${bin}:${process.env.PATH}`, XDG_RUNTIME_DIR: bin };
  }

  const showsGroup =
    'case "$*" in *pids.max*) printf "1073741824\\n0\\n200000 100000\\n100\\n"; exit;; esac';

  test("is a scope of the user's manager where its control group has the limits", async () => {
    const { argv, env, hold } = await limitCommand(limits, withManager(showsGroup));
    expect(argv[0]).toBe(join(bin, "systemd-run"));
    expect(argv).toContain("--expand-environment=no");
    for (const property of ["MemoryMax=1073741824", "MemorySwapMax=0", "TasksMax=100"])
      expect(argv).toContain(property);
    expect(env).toEqual({ XDG_RUNTIME_DIR: bin });
    expect(hold).toEqual([
      "1 GiB for all processes",
      "2 cpus",
      "100 processes and threads",
      "1 MiB of files",
    ]);
  });

  test("omits the option that older managers refuse", async () => {
    const older = `[ "$5" = --expand-environment=no ] && exit 1\n${showsGroup}`;
    const { argv } = await limitCommand(limits, withManager(older));
    expect(argv[0]).toBe(join(bin, "systemd-run"));
    expect(argv).not.toContain("--expand-environment=no");
  });

  test("is not used with a manager that accepts limits without applying them", async () => {
    const { argv, env, hold } = await limitCommand(limits, withManager(""));
    expect(argv).not.toContain(join(bin, "systemd-run"));
    expect(env).toEqual({});
    expect(hold[0]).toBe("1 GiB for all processes");
  });

  test("contains no program that a step can write, and reports the missing limit", async () => {
    const writable = ["/bin", "/usr", "/usr/bin"];
    const { argv, hold } = await limitCommand({ ...limits, cpus: 1 }, { PATH: bin }, writable);
    expect(argv).toEqual([]);
    expect(hold[1]).toMatch(/^(no limit on cpus|1 cpu)$/);
  });

  test.skipIf(!Bun.which("prlimit"))(
    "limits each process, and keeps the open files and the process id",
    async () => {
      const { argv } = await limitCommand({ ...limits, cpus: 1 }, { PATH: process.env.PATH });
      const script = "echo $$; ulimit -c; cat <&3; cat <&4; head -c 9000000 /dev/zero > big";
      const [command, ...args] = [...argv, "sh", "-c", script];
      const child = spawn(command, args, {
        cwd: bin,
        stdio: ["ignore", "pipe", "ignore", "pipe", "pipe"],
      });
      for (const [fd, said] of [
        [3, "three"],
        [4, "four"],
      ] as const)
        (child.stdio[fd] as Writable).end(`${said}\n`);
      const printed = await text(child.stdout as Readable);
      expect(printed.split("\n")).toEqual([String(child.pid), "0", "three", "four", ""]);
      expect(Bun.file(join(bin, "big")).size).toBeLessThanOrEqual(2 * 1024 ** 2);
    },
  );

  test("allows a browser by default", () => {
    expect(defaultLimits).toEqual({
      ...{ memory: 4 * 1024 ** 3, cpus: 2 },
      ...{ processes: 4096, disk: 10 * 1024 ** 3 },
    });
  });
});
