import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeStores, signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { agentFile } from "../src/step/agent-file.ts";
import { checkSandbox, Confirmations, type Plans, scriptCommand } from "../src/entry/service.ts";
import { command, cron, does, hello, TestHome, workflow } from "./home.ts";
import { plan } from "./parts.ts";

afterEach(removeStores);

/** Returns a plan home in a project whose plans' confirmations are kept elsewhere. */
function inProject(runOptions: Record<string, unknown> = { agentCommand: command }) {
  const home = new TestHome();
  const project = join(home.store.folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "uncaged.json"), "{}");
  const userHome = join(home.store.folder, "user/plans");
  const plans = home.open({ cwd: project, userHome, runOptions });
  const metadata = { cwd: project };
  const confirmed = async (output = hello({ trigger: cron })) => {
    const { id } = await plans.create(workflow(output, { metadata }));
    await plans.confirm(id);
    return id;
  };
  return { home, plans, project, userHome, confirmed };
}

/** Returns the error of a refused action. */
async function refusal(act: () => Promise<unknown>): Promise<string> {
  const done = await act().then(
    () => "nothing was refused",
    (error: unknown) => (error as Error).message,
  );
  return done;
}

const again = (id: string) =>
  `look at it, then confirm the plan again: uncaged-workflow plan confirm ${id}`;

async function eventsOf(home: TestHome, plans: Plans, id: string) {
  const { runs } = await home.ended(id);
  const ref = await home.host.find((runs[0]?.id ?? "").slice("run_".length));
  expect(plans.get(id).id).toBe(id);
  return (await home.host.read(ref)).steps.map(({ meta }) => meta);
}

describe("a confirmed plan", () => {
  for (const [file, text, how] of [
    [".env", "A=1\n", "was made"],
    ["uncaged.plans.yaml", "max_runs: 1\n", "was made"],
    ["uncaged.json", '{ "root": "other" }\n', "has changed"],
    ["package.json", '{ "uncaged": { "root": "other" } }\n', "was made"],
  ] as const) {
    test(`does not run after a change of ${file}, until it is confirmed again`, async () => {
      const { home, plans, project, confirmed } = inProject();
      const id = await confirmed();
      if (file === "package.json") rmSync(join(project, "uncaged.json"));
      writeFileSync(join(project, file), text);
      const message = await refusal(() => plans.run(id));
      if (file !== "package.json")
        expect(message).toBe(
          `${join(project, file)} ${how} since the plan was confirmed: ${again(id)}`,
        );
      expect(message).toContain(again(id));
      const [run] = (await plans.show(id)).runs;
      expect(run).toMatchObject({ status: "failed", error: message });
      await plans.confirm(id);
      await plans.run(id);
      expect((await home.ended(id)).runs[0]?.status).toBe("completed");
    });
  }

  test("keeps running after a change that does not affect the host", async () => {
    const { home, plans, project, confirmed } = inProject();
    writeFileSync(join(project, "package.json"), '{ "name": "a" }\n');
    const id = await confirmed();
    writeFileSync(join(project, "package.json"), '{ "name": "b", "dependencies": {} }\n');
    writeFileSync(join(project, "data.txt"), "text");
    await plans.run(id);
    expect((await home.ended(id)).runs[0]?.status).toBe("completed");
    // The plan is still active and needs no new confirmation.
    expect(await refusal(() => plans.confirm(id))).toContain("active");
  });

  test("is refused when a link to any target replaces a file", async () => {
    const { plans, project, confirmed, home } = inProject();
    writeFileSync(join(project, ".env"), "A=1\n");
    const id = await confirmed();
    writeFileSync(join(home.store.folder, "same"), "A=1\n");
    rmSync(join(project, ".env"));
    symlinkSync(join(home.store.folder, "same"), join(project, ".env"));
    expect(await refusal(() => plans.run(id))).toStartWith(`${join(project, ".env")} has changed`);
  });

  test("starts no further step after a step changed files that control the host", async () => {
    const { home, plans, confirmed, project } = inProject();
    const id = await confirmed(
      plan(
        [does("first", "write .env"), does("second", "say hello", ["first"])],
        {},
        {
          trigger: cron,
        },
      ),
    );
    await plans.run(id);
    const events = await eventsOf(home, plans, id);
    expect(events).toContainEqual(
      expect.objectContaining({
        ...{ event: "failed" },
        error: `${join(project, ".env")} was made since the plan was confirmed: ${again(id)}`,
      }),
    );
    expect(events.filter(({ event }) => event === "succeeded")).toHaveLength(1);
  });

  test("is not resumed, and its owner is notified, after a step changed files that control the host", async () => {
    const { home, plans, project, confirmed, userHome } = inProject();
    const id = await confirmed(plan([does("one", "wait for go")], {}, { trigger: cron }));
    await plans.run(id);
    await until(() => existsSync(join(project, "calls")));
    await signalWorkers(home.store.root, "SIGKILL");
    writeFileSync(join(project, ".env"), "A=1\n");
    const errors: string[] = [];
    const service = home.open({ cwd: project, userHome });
    await service.recover({ onError: (_run, error) => errors.push((error as Error).message) });
    const message = `${join(project, ".env")} was made since the plan was confirmed: ${again(id)}`;
    expect(errors).toEqual([message]);
    expect(JSON.stringify(plans.get(id).metadata?.notices)).toContain("was made since");
    writeFileSync(join(project, "go"), "");
    await service.confirm(id);
    expect((await home.ended(id)).runs[0]?.status).toBe("completed");
  });

  test("is refused in a plan home without a confirmation by this user", async () => {
    const { plans, confirmed, userHome } = inProject();
    const id = await confirmed();
    rmSync(userHome, { recursive: true });
    expect(await refusal(() => plans.run(id))).toBe(
      `no confirmation of the current ${id} found in ${userHome}: ${again(id)}`,
    );
  });

  test("is confirmed in its new state after a change", async () => {
    const { home, plans, confirmed, project } = inProject();
    const id = await confirmed();
    writeFileSync(join(project, ".env"), "A=1\n");
    await plans.replace(
      workflow(hello({ trigger: cron, name: "Other" }), { id, metadata: { cwd: project } }),
    );
    await plans.confirm(id);
    await plans.run(id);
    expect((await home.ended(id)).runs[0]?.status).toBe("completed");
  });
});

describe("the agent of a confirmed plan", () => {
  test("is shown by path and digest before the plan is confirmed", async () => {
    const { home, project } = inProject();
    const path = agentIn(join(project, "bin"));
    const question = { planHome: home.home, root: home.store.root };
    const shown = async (agentCommand: string, PATH: string) =>
      await checkSandbox(
        { metadata: { cwd: project, sandbox: "off" } },
        { ...question, env: { ...home.store.env, PATH }, agentCommand },
      );
    const { agent, text } = await shown("claude", `${project}/bin:/usr/bin`);
    const sha256 = new Bun.CryptoHasher("sha256")
      .update(await Bun.file(path).bytes())
      .digest("hex");
    expect(agent).toEqual({ command: "claude", path, sha256 });
    expect(text).toEndWith(
      `; agent ${path} (SHA-256 ${sha256.slice(0, 16)}), which is in the project`,
    );
    // A relative entry of PATH would be another folder for each process.
    expect((await shown("claude", "bin:.")).text).toEndWith(
      "; agent claude, which is not found on PATH",
    );
  });

  const script = (comment = "") => `#!/bin/sh\n${comment}exec ${command} "$@"\n`;

  /** Copies the agent of the tests into its own folder, where PATH finds it. */
  function agentIn(folder: string): string {
    mkdirSync(folder, { recursive: true });
    const path = join(folder, "claude");
    writeFileSync(path, script(), { mode: 0o755 });
    return path;
  }

  test("is recorded by path and digest, and found unchanged after the confirmation", async () => {
    const { home, plans, project, userHome } = inProject();
    const bin = join(home.store.folder, "bin");
    const path = agentIn(bin);
    const env = { ...home.store.env, PATH: `${project}/bin:${bin}:${process.env.PATH}` };
    const own = home.open({ cwd: project, userHome, env, runOptions: { agentCommand: "claude" } });
    const { id } = await own.create(
      workflow(hello({ trigger: cron }), { metadata: { cwd: project } }),
    );
    await own.confirm(id);
    // A program that a step puts earlier on the PATH is not used instead.
    writeFileSync(agentIn(join(project, "bin")), "#!/bin/sh\nexit 7\n");
    await own.run(id);
    const started = (await eventsOf(home, plans, id)).find(({ event }) => event === "started");
    const found = await agentFile(path, env);
    expect(started).toMatchObject({ agent: { path, sha256: found?.sha256 ?? "" } });
    expect((await home.ended(id)).runs[0]?.status).toBe("completed");
  });

  const roots = (planHome: string, allowedRoots: object[]) => {
    const list = { allowedRoots, blockedPatterns: [], nonMainReadOnly: false };
    mkdirSync(planHome, { recursive: true });
    writeFileSync(join(planHome, "mount-allowlist.json"), JSON.stringify(list));
  };

  test("may update itself where no step can write", async () => {
    const { home, project, userHome } = inProject();
    roots(home.home, [{ path: home.store.folder, allowReadWrite: false }]);
    const path = agentIn(join(home.store.folder, "bin"));
    const plans = home.open({ cwd: project, userHome, runOptions: { agentCommand: path } });
    const { id } = await plans.create(
      workflow(hello({ trigger: cron }), { metadata: { cwd: project } }),
    );
    await plans.confirm(id);
    writeFileSync(path, script("# another version\n"));
    await plans.run(id);
    expect((await home.ended(id)).runs[0]?.status).toBe("completed");
  });

  for (const where of ["project", "other project"])
    test(`is refused when a step of its ${where} could have changed it`, async () => {
      const { home, project, userHome } = inProject();
      const path = agentIn(
        join(where === "project" ? project : join(home.store.folder, "other"), "bin"),
      );
      roots(home.home, [{ path: home.store.folder, allowReadWrite: true }]);
      const plans = home.open({ cwd: project, userHome, runOptions: { agentCommand: path } });
      const { id } = await plans.create(
        workflow(hello({ trigger: cron }), { metadata: { cwd: project } }),
      );
      await plans.confirm(id);
      writeFileSync(path, script("# planted\n"));
      await plans.run(id);
      const [run] = (await home.ended(id)).runs;
      expect(run?.status).toBe("failed");
      expect(run?.error).toContain(
        `the agent ${path}, which steps can write, is not the confirmed agent: ${again(id)}`,
      );
    });
});

test("a plan that was confirmed with a sandbox does not run without a sandbox until it is confirmed again", async () => {
  const { home, plans, project, userHome } = inProject();
  let mode: "off" | "bubblewrap" = "bubblewrap";
  const check = () => Promise.resolve({ mode });
  const runOptions = { agentCommand: command, planHome: plans.folder };
  const own = home.open({ cwd: project, userHome, runOptions, check });
  const metadata = { cwd: project, sandbox: "off" as const };
  const { id } = await own.create(workflow(hello({ trigger: cron }), { metadata }));
  await own.confirm(id);
  await own.run(id);
  const [run] = (await home.ended(id)).runs;
  expect(run?.error).toContain(
    `the plan was confirmed with the sandbox bubblewrap, but none is available now: ${again(id)}`,
  );
  const confirmed = new Confirmations({ home: home.home, env: {}, cwd: project }, userHome);
  const question = { planHome: plans.folder, root: home.host.root, env: home.store.env };
  const script = () =>
    scriptCommand(own.get(id), "true", { ...question, confirmed: confirmed.kept(id) });
  expect(await refusal(script)).toContain("none is available now");
  mode = "off";
  await own.confirm(id);
  await own.run(id);
  expect((await home.ended(id)).runs[0]?.status).toBe("completed");
  await (await script()).end();
});
