import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { some } from "../../test/fixtures/cases.ts";
import { until } from "../../test/fixtures/until.ts";
import type { StepLimits } from "./limits.ts";
import { readMemory, readTree } from "./process-tree.ts";
import { watchLimits } from "./watch.ts";

setDefaultTimeout(180_000);
const mega = 1024 ** 2;
const runner = fileURLToPath(new URL("../../test/fixtures/watched.ts", import.meta.url));

// A folder that an unprivileged user may write to.
let folder = "";
beforeEach(() => {
  folder = mkdtempSync("/tmp/uncaged-step-");
  chmodSync(folder, 0o777);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const limits: StepLimits = { memory: 1024 * mega, cpus: 2, processes: 4096, disk: 1024 * mega };

/** Whether a process runs with a text in its command line. */
function runsWith(text: string): boolean {
  return readdirSync("/proc").some((id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
}

const asNobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
const canStart = (argv: string[]) => {
  try {
    return Bun.spawnSync([...argv, "--version"], { stdio: ["ignore", "ignore", "ignore"] }).success;
  } catch {
    return false;
  }
};
const canBeNobody = process.getuid?.() === 0 && canStart([...asNobody, process.execPath]);

const bwrap = "bwrap --unshare-user --unshare-pid --dev-bind / / --proc /proc -- true".split(" ");
const works = (argv: string[]) => Bun.which(argv[0] ?? "") !== null && Bun.spawnSync(argv).success;
const users = [
  { user: "this user", as: [] as string[], isHere: works(bwrap) },
  { user: "an ordinary user", as: asNobody, isHere: canBeNobody && works([...asNobody, ...bwrap]) },
];

// Prefer an unprivileged user, if the tests can run as one.
const last = users.findLastIndex(({ isHere }) => isHere);
describe.each(some(users, 0, Math.max(last, 0)))("a step of $user", ({ as, isHere }) => {
  const inSandbox = test.skipIf(!isHere);

  /** Runs a script and returns the runner's report after all of its processes have ended. */
  async function ran(script: string, own: Partial<StepLimits>): Promise<string> {
    const mark = `mark-${crypto.randomUUID()}`;
    const options = JSON.stringify({ limits: { ...limits, ...own }, folders: [folder] });
    const argv = [...as, process.execPath, runner, `: ${mark}; ${script}`, options];
    const child = Bun.spawn(argv, { cwd: folder, stdout: "pipe", stderr: "inherit" });
    const printed = await child.stdout.text();
    await until(() => !runsWith(mark));
    return printed;
  }

  inSandbox("that forks without end is ended with all its processes", async () => {
    const bomb = `i=0; while [ $i -lt 3000 ]; do (sleep 600) & i=$((i + 1)); done; wait`;
    expect(await ran(bomb, { processes: 200 })).toBe(
      "exceeded: had more than 200 processes and threads\nended: SIGKILL\n",
    );
  });

  inSandbox("that forks from every process and leaves its session is ended", async () => {
    const bomb = `f() { [ $1 -gt 10 ] && exec sleep 600; f $(($1 + 1)) & f $(($1 + 1)) & wait; }; setsid sh -c 'true'; f 0`;
    expect(await ran(bomb, { processes: 100 })).toContain("had more than 100 processes");
  });

  inSandbox("that shares its memory among many processes is ended", async () => {
    const one = `x=$(head -c ${40 * mega} /dev/zero | tr '\\0' a); read -r y < ${folder}/never`;
    const script = `mkfifo ${folder}/never; for n in 1 2 3; do (${one}) & done; wait`;
    expect(await ran(script, { memory: 100 * mega })).toBe(
      "exceeded: used more than 100 MiB of memory\nended: SIGKILL\n",
    );
  });

  inSandbox(
    "that writes many files is ended, and so is a script that deletes open files",
    async () => {
      const write = `head -c ${3 * mega} /dev/zero`;
      const many = `for n in 1 2 3 4 5 6; do ${write} > ${folder}/$n; done; sleep 600`;
      const exceeded = "exceeded: wrote more than 10 MiB of files\nended: SIGKILL\n";
      expect(await ran(many, { disk: 10 * mega })).toBe(exceeded);
      rmSync(folder, { recursive: true });
      folder = mkdtempSync("/tmp/uncaged-step-");
      chmodSync(folder, 0o777);
      const open = `exec 3> ${folder}/x 4> ${folder}/y; rm ${folder}/*; for n in 1 2; do ${write} >&3; ${write} >&4; done; sleep 600`;
      expect(await ran(open, { disk: 10 * mega })).toBe(exceeded);
    },
  );

  inSandbox("that nests folders without end is ended", async () => {
    const script = `cd ${folder}; i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i + 1)); done; sleep 600`;
    expect(await ran(script, {})).toContain("exceeded: nested folders more than 200 levels deep");
  });

  inSandbox("that stays within its limits is left alone", async () => {
    const script = `for n in 1 2 3; do head -c ${mega} /dev/zero > ${folder}/$n; sleep 0.5; done`;
    expect(await ran(script, { processes: 20, memory: 50 * mega, disk: 10 * mega })).toBe(
      "ended: 0\n",
    );
  });
});

describe.skipIf(process.platform !== "linux")("the memory of processes", () => {
  test("that share pages counts once", async () => {
    const size = 40 * mega;
    const script = `x=$(head -c ${size} /dev/zero | tr '\\0' a); mkfifo never; for n in 1 2 3 4; do (echo ready; read -r y < never) & done; wait`;
    const child = Bun.spawn(["sh", "-c", script], { cwd: folder, stdout: "pipe" });
    try {
      const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      for (let said = ""; said.split("ready").length < 5; ) said += (await output.read()).value;
      const tree = await readTree(child.pid);
      const resident = tree.reduce((sum, one) => sum + one.resident, 0);
      const memory = await Promise.all(tree.map(({ pid }) => readMemory(pid)));
      const own = memory.reduce((sum, one) => sum + one.own + one.shared, 0);
      expect(resident).toBeGreaterThan(4 * size);
      expect(own).toBeGreaterThanOrEqual(size);
      expect(own).toBeLessThan(3 * size);
    } finally {
      const tree = await readTree(child.pid);
      for (const { pid } of tree) process.kill(pid, "SIGKILL");
      await child.exited;
    }
  });

  test("that have ended is zero", async () => {
    const child = Bun.spawn(["true"]);
    await child.exited;
    await until(async () => (await readTree(child.pid)).length === 0);
    expect(await readMemory(child.pid)).toEqual({ own: 0, shared: 0 });
  });
});

const canMount =
  process.getuid?.() === 0 && works(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]);
describe.skipIf(!canMount)("a step that fills a disk", () => {
  test("is ended while space is left", async () => {
    const reasons: string[] = [];
    const script = `while :; do head -c ${mega} /dev/zero >> x; sleep 1; done`;
    try {
      expect(
        Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=8m", "none", folder]).exitCode,
      ).toBe(0);
      const child = Bun.spawn(["setsid", "sh", "-c", script], { cwd: folder });
      const watch = watchLimits({
        ...{ pid: child.pid, limits, folders: [], disks: [folder] },
        onExceeded: (reason) => reasons.push(reason),
      });
      await child.exited;
      watch.stop();
    } finally {
      Bun.spawnSync(["umount", "-l", folder]);
    }
    expect(reasons).toEqual([
      expect.stringMatching(/^left less than [34](\.\d+)? MiB free on the disk of /),
    ]);
  });
});
