import { spawnSync } from "node:child_process";
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSource } from "@uncaged/workflow/host";
import { runChild } from "@uncaged/workflow-agents/interpreter";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import { removeStores, TestStore } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { failureOf } from "../../workflow-agents/test/published.ts";
import { ConfigError, type PlanMetadata, type PlanStep } from "../src/entry/index.ts";
import { launchIn } from "../src/step/launch.ts";
import { checkedSandbox } from "../src/step/view.ts";
import { checkSandbox, scriptCommand } from "../src/entry/service.ts";
import { planSource } from "../src/entry/source.ts";
import { runCheck } from "../src/trigger/check-script.ts";
import { plan, step } from "./parts.ts";
import { ownProgram } from "./surroundings.ts";

/* Steps that try to escape their sandbox. The agent executes its task as a shell script. */
setDefaultTimeout(90_000);
const command = fileURLToPath(new URL("./agents/script.mjs", import.meta.url));
const missing = Bun.which("bwrap") ? "" : " (left out: bubblewrap is not installed)";
const inSandbox = test.skipIf(missing !== "");

const key = "PRIVATE-KEY-0123456789";
const secrets = { A_TOKEN: "value-of-a-token", OTHER_TOKEN: "value-of-another-token" };

let home = "";
let project = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "uncaged-home-"));
  project = join(home, "site");
  for (const folder of [project, join(home, ".ssh")]) mkdirSync(folder);
  writeFileSync(join(home, ".ssh/id_rsa"), key);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));
afterAll(removeStores);

async function built(steps: PlanStep[], metadata: PlanMetadata): Promise<string> {
  const path = join(home, "plan.json");
  writeFileSync(path, JSON.stringify({ ...plan(steps), metadata }));
  const { bytes } = await buildSource(path, { sources: [planSource(() => undefined)] });
  return new TextDecoder().decode(bytes);
}

/** Runs scripts as the steps of a plan in a worker, with a plan home in the storage root. */
async function ran(
  scripts: Record<string, string>,
  more: PlanMetadata = {},
  env: Record<string, string> = {},
) {
  const store = new TestStore();
  const planHome = join(store.root, "plans");
  mkdirSync(planHome, { mode: 0o700 });
  writeFileSync(join(planHome, "secrets.json"), JSON.stringify(secrets), { mode: 0o600 });
  const roots = [{ path: tmpdir(), allowReadWrite: false }];
  const allowlist = { allowedRoots: roots, blockedPatterns: [".ssh"], nonMainReadOnly: false };
  writeFileSync(join(planHome, "mount-allowlist.json"), JSON.stringify(allowlist));
  const of = (script: string) =>
    script.replaceAll("HOST_HOME", home).replaceAll("ROOT", store.root);
  const steps = Object.entries(scripts).map(([id, script]) =>
    step(id, [], { description: of(script) }),
  );
  const hash = await store.add(
    await built(steps, { cwd: project, sandbox: "bubblewrap", ...more }),
  );
  const ref = await store.start(hash, "try", {
    env: { ...store.env, ...secrets, PATH: process.env.PATH ?? "", HOME: home, ...env },
    maxRounds: 10_000,
    options: {
      ...{ agentCommand: command, planHome, workflowId: "wf_test" },
      ...{ planRoot: store.root, planProgram: ownProgram },
    },
  });
  const { result, steps: records } = await store.whenStatus(ref, "completed", "failed");
  const ends = records.filter(({ meta }) => ["succeeded", "failed"].includes(String(meta.event)));
  const outputs = Object.fromEntries(ends.map(({ content, role }) => [role, content]));
  const started = records.find(({ meta }) => meta.event === "started")?.meta;
  return { store, ref, result, outputs, started, records };
}

/** Returns all files below a folder that contain a text. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));
}

/** Tells whether a process with a text in its command line runs. */
function runsWith(text: string): boolean {
  return readdirSync("/proc").some((id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
}

inSandbox(
  `a hostile step reaches nothing outside, and a step has only the secrets that it names${missing}`,
  async () => {
    const mark = `6${Date.now()}`;
    const say = (script: string) => `${script} # A_TOKEN`;
    const { outputs, records, result, started, store } = await ran({
      keys: "cat HOST_HOME/.ssh/id_rsa ~/.ssh/id_rsa; ls -a ~ /root /home; ls HOST_HOME",
      root: "ls ROOT; cat ROOT/plans/secrets.json; find / -name secrets.json 2>/dev/null; echo searched",
      processes:
        "cat /proc/[0-9]*/environ | tr '\\0' '\\n'; ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/cmdline",
      outside:
        "for f in /etc/x /usr/x /x HOST_HOME/x /workspace/project/x /workspace/ipc/input/x; do echo x > $f; done; cd /workspace/work && echo y > y && cat y",
      child: `setsid nohup sleep ${mark} > /dev/null 2>&1 & (sleep ${mark}7 > /dev/null 2>&1 &) ; echo left`,
      engine:
        "ls /var/run/docker.sock /run; mount -t tmpfs none /mnt; chroot /; unshare -m true; cat /etc/shadow",
      ipc: "cd /workspace/ipc && mv output out; rm -rf input; ln -s /etc errors; ls",
      has: say(
        'echo "it is $A_TOKEN, not $(env | grep -c OTHER)"; echo $A_TOKEN >&2; cd /workspace/work && echo $A_TOKEN > kept',
      ),
      lacks: 'echo "${A_TOKEN:-none}" > /dev/null; env | grep -c TOKEN',
      sends: say(
        `cd /workspace/ipc/output; echo '{"type":"notify","message":"'$A_TOKEN'"}' > .x; mv .x 1.json; echo "bad $A_TOKEN" > "$A_TOKEN.json"; echo "$A_TOKEN" > 2.json; for n in $(seq 100); do [ -e ../input/1.json ] && break; sleep 0.1; done; echo sent`,
      ),
      fails: say("kill -9 $PPID"),
    });
    expect(result?.summary).toBe(
      'step fails failed: the command "script.mjs" failed with exit code 137',
    );
    expect(started).toMatchObject({ sandbox: "bubblewrap", project: "read-only", network: true });
    expect(JSON.stringify(outputs)).not.toContain(key);
    expect(outputs.keys).toContain("No such file");
    expect(outputs.keys).not.toContain("site");
    expect(outputs.root).toStartWith("searched\n");
    expect(outputs.root).not.toContain("/secrets.json\n/");
    expect(outputs.processes).not.toContain("TOKEN=");
    expect(outputs.processes).not.toContain("worker");
    expect(
      outputs.outside?.match(/Read-only file system|nonexistent|[Dd]irectory/g)?.length,
    ).toBeGreaterThanOrEqual(5);
    expect(outputs.outside).toContain("y");
    for (const path of ["x", "site/x"]) expect(existsSync(join(home, path))).toBe(false);
    expect(outputs.engine).toContain("cannot access '/var/run/docker.sock'");
    expect(outputs.engine).toMatch(/shadow: No such file/);
    expect(outputs.ipc).toMatch(/busy|Read-only/);
    await until(() => !runsWith(mark));
    expect(filesWith(store.root, key)).toEqual([]);
    expect(existsSync(join(home, ".cache/uncaged-workflow/runs"))).toBe(true);
    expect(readdirSync(join(home, ".cache/uncaged-workflow/runs"))).toEqual([]);

    expect(outputs.has).toBe("it is [secret:A_TOKEN], not 0\n[secret:A_TOKEN]");
    const notices = records.filter(({ meta }) => meta.event === "notice");
    expect(notices.map(({ content, role }) => [role, content])).toEqual([
      ["sends", "[secret:A_TOKEN]"],
    ]);
    expect(outputs.sends).toBe("sent");
    expect(outputs.fails).toContain("exit code 137");
    for (const secret of Object.values(secrets)) {
      const files = filesWith(store.root, secret).map((path) => path.slice(store.root.length));
      expect(files).toEqual(["/plans/secrets.json"]);
    }
  },
);

inSandbox(
  `a home directory as the project is read-only, and hidden files stay hidden in it and in a mount${missing}`,
  async () => {
    const store = new TestStore();
    const planHome = join(store.root, "plans");
    mkdirSync(planHome);
    writeFileSync(join(home, ".netrc"), "machine of mine");
    const env = { PATH: process.env.PATH ?? "", HOME: home };
    const question = { planHome, root: store.root, env };
    const container = { additionalMounts: [{ hostPath: store.folder }] };
    const checkIn = async (cwd: string, script: string) => {
      const metadata = { cwd, sandbox: "bubblewrap" as const, container };
      const report = await checkSandbox({ metadata }, question);
      const check = await scriptCommand({ id: "wf_x", metadata }, script, question);
      const printed = await runCheck(check, AbortSignal.timeout(60_000));
      return { project: report.project, text: report.text, printed: printed.trim() };
    };
    const asProject = await checkIn(
      home,
      `ls -A .ssh "/workspace/mounts${store.root}"; echo x > made; echo x > .ssh/made; cat .ssh/id_rsa .netrc; true`,
    );
    expect(asProject.project).toBe("read-only");
    const lines = asProject.printed
      .split("\n")
      .filter((line) => line !== "" && !line.endsWith(":"));
    expect(lines).toEqual([]);
    for (const path of ["made", ".ssh/made"]) expect(existsSync(join(home, path))).toBe(false);
    const below = await checkIn(project, "echo x > made");
    expect(below.text).toContain("the project can be written");
    expect(readFileSync(join(project, "made"), "utf8")).toBe("x\n");
  },
);

inSandbox(
  `a command that is ended while its sandbox is set up leaves nothing running${missing}`,
  async () => {
    const env = { PATH: process.env.PATH ?? "", HOME: home };
    const question = { planHome: join(home, "plans"), root: home, env };
    const metadata = { cwd: project, sandbox: "bubblewrap" } as const;
    for (const delay of [0, 5, 10]) {
      const check = await scriptCommand({ id: "wf_x", metadata }, "sleep 600", question);
      const stop = new AbortController();
      const ended = runChild({
        ...{ ...check, signal: stop.signal, timeoutMs: 600_000, graceMs: 100 },
        ...{ onOutput: () => undefined, onError: () => undefined },
      });
      await Bun.sleep(delay);
      stop.abort();
      expect((await ended).by).toBe("abort");
      await check.end();
    }
    await until(() => !runsWith(project));
  },
);

inSandbox(
  `a script without a network reaches nothing, not even this machine${missing}`,
  async () => {
    const server = await anthropicServer([{ text: "reached" }]);
    try {
      const env = { PATH: process.env.PATH ?? "", HOME: home };
      const question = { planHome: join(home, "plans"), root: home, env };
      const sandbox = { mode: "bubblewrap", network: "none" } as const;
      const script = `node -e 'fetch("${server.url}").then(() => console.log("reached"), (e) => console.log("refused", e.cause?.code))'; tail -n +3 /proc/net/dev | grep -v lo: ; true`;
      const metadata = { cwd: project, sandbox };
      const check = await scriptCommand({ id: "wf_x", metadata }, script, question);
      const printed = await runCheck(check, AbortSignal.timeout(60_000));
      expect(printed).toContain("refused ");
      expect(printed).not.toContain("reached");
    } finally {
      await server.stop();
    }
  },
);

test("a step and a confirmation fail if a named or required sandbox is missing", async () => {
  const bin = join(home, "bin");
  mkdirSync(bin);
  const env = { PATH: bin, HOME: home };
  const container = { mode: "container", image: "none-such" } as const;
  const { outputs, started } = await ran(
    { a: "echo done" },
    { sandbox: container },
    { PATH: `${bin}:/usr/bin` },
  );
  expect(started).toMatchObject({ sandbox: "unavailable" });
  expect(outputs.a).toMatch(/the sandbox container is not available: docker .*podman/);
  const question = { planHome: join(home, "plans"), root: home, env };
  const problem = async (metadata: object) =>
    failureOf(checkSandbox({ metadata: { cwd: project, ...metadata } }, question));
  expect(await problem({ sandbox: "container" })).toBeInstanceOf(ConfigError);
  expect(await problem({ sandbox: { mode: "off", required: true } })).toBeInstanceOf(ConfigError);
  expect(String(await problem({ sandbox: { network: "none" } }))).toContain(
    "calls its model over the network",
  );
  const alone = { ...question, agentNeedsNetwork: false };
  const held = checkSandbox(
    { metadata: { cwd: project, sandbox: { mode: "off", network: "none" } } },
    alone,
  );
  expect(String(await failureOf(held))).toContain("no sandbox is available");
  expect(String(await problem({ sandbox: "bwrap" }))).toContain('invalid sandbox.mode "bwrap"');
  expect(String(await problem({ sandbox: { mod: "off" } }))).toContain('unknown option "mod"');
  expect(
    String(await problem({ container: { additionalMounts: [{ hostPath: "~/.ssh" }] } })),
  ).toContain("blocked");
  const off = await checkSandbox({ metadata: { cwd: project, sandbox: "off" } }, question);
  expect(off).toMatchObject({ mode: "off", text: "none: the steps have your rights" });
});

inSandbox(
  `a step that exceeds a limit fails with the limit's name, and its siblings continue${missing}`,
  async () => {
    const mega = 1024 ** 2;
    const mark = `7${Date.now()}`;
    const sandbox = {
      mode: "bubblewrap",
      cpus: 1,
      ...{ memory: 400 * mega, processes: 200, disk: 20 * mega },
    } as const;
    const { outputs, started } = await ran(
      {
        forks: `for n in $(seq 3000); do sleep ${mark} & done; wait`,
        allocates: `for n in 1 2 3; do node -e 'globalThis.x = Buffer.alloc(150 * 1024 ** 2, 1); setTimeout(() => {}, 600_000)' & done; wait`,
        writes: `cd ~; for n in $(seq 30); do head -c ${mega} /dev/zero > $n; done; sleep 600`,
        sends: `cd /workspace/ipc/output; for n in $(seq 30); do head -c ${mega} /dev/zero > .$n; done; sleep 600`,
        stays: "sleep 3; echo x > /dev/made || stat -f -c '%b * %S' /tmp /dev/shm",
      },
      { sandbox },
    );
    expect(started?.limits).toEqual([
      "400 MiB for all processes",
      "1 cpu",
      "200 processes and threads",
      "20 MiB of files",
    ]);
    expect(outputs).toEqual({
      forks: "the step had more than 200 processes and threads",
      allocates: "the step used more than 400 MiB of memory",
      writes: "the step wrote more than 20 MiB of files",
      sends: "the step wrote more than 20 MiB of files",
      stays: expect.stringMatching(/^(262144 \* 4096\n){2}.*\/dev\/made: Read-only file system$/),
    });
    await until(() => !runsWith(mark));
  },
);

inSandbox(`a check script that exceeds a limit fails with its name${missing}`, async () => {
  const env = { PATH: process.env.PATH ?? "", HOME: home };
  const question = { planHome: join(home, "plans"), root: home, env };
  const metadata = { cwd: project, sandbox: { mode: "bubblewrap", processes: 100 } } as const;
  const script = "for n in $(seq 1000); do sleep 600 & done; wait";
  const check = await scriptCommand({ id: "wf_x", metadata }, script, question);
  const problem = await failureOf(runCheck(check, new AbortController().signal));
  expect(String(problem)).toContain("the step had more than 100 processes and threads");
});

const runtime = process.env.XDG_RUNTIME_DIR ?? "";
const hasManager =
  runtime !== "" && Bun.spawnSync(["systemctl", "--user", "is-system-running"]).stdout.length > 0;

test.skipIf(missing !== "" || !hasManager)(
  `the memory limit of a step applies to all of its processes together${hasManager ? "" : " (left out: no service manager of the user found)"}`,
  async () => {
    const script = `for n in 1 2 3 4; do node -e 'Buffer.alloc(100 * 1024 ** 2, 1); setTimeout(() => {}, 3000)' & done; wait; env | grep -c XDG_RUNTIME_DIR; echo over`;
    const { outputs, started } = await ran(
      { a: script },
      { sandbox: { mode: "bubblewrap", memory: 256 * 1024 ** 2 } },
      { XDG_RUNTIME_DIR: runtime },
    );
    expect(started?.limits).toContainEqual("256 MiB for all processes");
    expect(outputs.a).not.toBe("0\nover");
  },
);

inSandbox(`a mount that is missing at the start of a step fails the step${missing}`, async () => {
  const data = join(home, "data");
  mkdirSync(data);
  const container = { additionalMounts: [{ hostPath: data }] };
  const scripts = { a: `ls /workspace/mounts${data} && echo x > /workspace/mounts${data}/x` };
  rmSync(data, { recursive: true });
  const gone = await ran(scripts, { container });
  expect(gone.outputs.a).toMatch(/invalid mount .*: not found/);
  expect(statSync(data, { throwIfNoEntry: false })).toBeUndefined();
});

inSandbox(`a sandbox can be started twice, and has no keyrings${missing}`, async () => {
  const env = { PATH: process.env.PATH ?? "", HOME: home };
  const question = { planHome: join(home, "plans"), root: home, env };
  const site = { metadata: { cwd: project, sandbox: "bubblewrap" as const }, cwd: project };
  const checked = await checkedSandbox({ ...site, ...question });
  const run = join(home, "run");
  mkdirSync(run);
  const script = "grep Seccomp: /proc/self/status; cd /workspace/work && echo started >> starts";
  const launch = await launchIn(checked, {
    ...{ command: ["/bin/sh", "-c", script], env, run, step: "a", ipc: null, programs: [] },
  });
  if (launch === null) throw new Error("no sandbox");
  for (const _ of [1, 2]) {
    const stdio = ["ignore", "pipe", "inherit", ...launch.descriptors()] as const;
    const [program = "", ...args] = launch.argv;
    const { stdout } = spawnSync(program, args, { env: launch.env, stdio: [...stdio] });
    if (["x64", "arm64"].includes(process.arch)) expect(stdout.toString()).toContain("\t2");
  }
  await launch.end();
  expect(readFileSync(join(run, "work/starts"), "utf8")).toBe("started\nstarted\n");
});
