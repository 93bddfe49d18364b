import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { programWords } from "../../cli-workflow/test/command.ts";
import { ended, playBundle, removeFolders, Store } from "../../cli-workflow/test/program.ts";
import { ownProcesses } from "@uncaged/workflow/sandbox";
import { numberIn, processesIn } from "./processes.ts";

/* Tests that an agent with a shell cannot answer a thread, neither during its call nor after it. */
const source = join(import.meta.dir, "bundles/commanding.ts");
const nobody = 65_534;
const setpriv = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
const isRoot = process.getuid?.() === 0;
const canBeNobody =
  isRoot &&
  Bun.which("setpriv") !== null &&
  Bun.spawnSync([...setpriv, ...programWords, "--version"]).exitCode === 0;
const hasBubblewrap = (await ownProcesses()) !== null;

afterAll(removeFolders);

type Printed = { threadId: string; status: string; steps: { content: string; meta: object }[] };

class Users extends Store {
  readonly #before: string[];

  constructor(before: string[]) {
    super();
    this.#before = before;
    mkdirSync(this.env.HOME ?? "");
    if (before.length === 0) return;
    for (const folder of [this.folder, this.env.HOME ?? ""]) chownSync(folder, nobody, nobody);
    chmodSync(dirname(this.folder), 0o711);
  }

  override get env(): Record<string, string> {
    return { ...super.env, TMPDIR: this.folder };
  }

  async call(...args: string[]) {
    const options = { cwd: this.folder, env: this.env, stdin: "ignore" } as const;
    return await ended(
      Bun.spawn([...this.#before, ...programWords, ...args], {
        ...options,
        stdout: "pipe",
        stderr: "pipe",
      }),
    );
  }

  async printed(...args: string[]): Promise<Printed> {
    const { stdout, stderr } = await this.call(...args, "--json");
    const printed = JSON.parse(stdout) as Printed & { error?: unknown };
    expect([printed.error, stderr]).toEqual([undefined, ""]);
    return printed;
  }

  /** Runs a script in a shell by a tool call, and returns its output. */
  async shell(script: string): Promise<string> {
    const params = JSON.stringify({ argv: ["sh", "-c", script] });
    const { threadId } = await this.printed("run", "commanding", "--params", params, "--wait");
    return (await this.printed("thread", threadId)).steps[0]?.content ?? "";
  }
}

const users: [who: string, is: boolean, before: string[]][] = [
  ["this user", true, []],
  ["an ordinary user", canBeNobody, setpriv],
];

describe.if(process.platform === "linux").each(users)("for %s", (_, is, before) => {
  test.if(is)(
    "a tool's command can't answer a thread, even with an empty environment",
    async () => {
      const store = new Users(before);
      await store.printed("add", "commanding", source);
      await store.printed("add", "play", playBundle);
      const asking = await store.printed("run", "play", "--params", '{"ask":1}', "--wait");
      expect(asking.status).toBe("waiting");
      const root = `UNCAGED_WORKFLOW_STORAGE_ROOT=${store.root}`;
      const lineOf = (env: string, ...args: string[]) =>
        `${env} ${root} ${programWords.map((word) => `'${word}'`).join(" ")} ${args.join(" ")} || echo "code $?"`;
      const resume = ["resume", asking.threadId, "--input", "yes"];
      const fork = ["fork", asking.threadId, "--at-step", "1", "--input", "yes"];
      const daemon = 'setsid env -i sh -c "echo \\$\\$ >pid; sleep 600" >/dev/null 2>&1 &';
      const text = await store.shell(
        [
          ...[lineOf("env", ...resume), lineOf("env -i", ...resume), lineOf("env -i", ...fork)],
          ...(hasBubblewrap ? [daemon, "until [ -s pid ]; do sleep 0.01; done"] : []),
        ].join("\n"),
      );
      const refusal =
        /^error: only a person can decide: a step started this process; hint: .*\ncode 1$/;
      for (const one of text.split(/(?<=code 1)\n/)) expect(one).toMatch(refusal);
      expect(text.match(/code 1/g)).toHaveLength(3);
      if (hasBubblewrap) expect(numberIn(join(store.folder, "pid"))).toBeGreaterThan(0);
      if (hasBubblewrap) expect(processesIn(store.folder)).toEqual([]);
      expect((await store.printed("thread", asking.threadId)).status).toBe("waiting");
      await store.printed("resume", asking.threadId, "--input", "yes", "--wait");
      const { steps } = await store.printed("thread", asking.threadId);
      expect(steps[1]?.meta).toMatchObject({ by: { kind: "terminal" } });
    },
    180_000,
  );
});

test("the commands of `plan` are refused in a process with a worker's environment variable", async () => {
  const store = new Store();
  const env = { UNCAGED_WORKFLOW_WORKER: "a-mark" };
  for (const verb of ["confirm", "run", "retry"]) {
    const { code, stdout } = await store.run(["plan", verb, "wf_1", "--json"], { env });
    const { error } = JSON.parse(stdout) as { error: { code: string } };
    expect([verb, code, error.code]).toEqual([verb, 1, "ANSWER_FROM_STEP"]);
  }
});
