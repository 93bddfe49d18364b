import {
  afterAll,
  afterEach,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runChild } from "@uncaged/workflow-agents/interpreter";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import { failureOf } from "../../workflow-agents/test/published.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { checkSandbox, scriptCommand } from "../src/entry/service.ts";
import { launchIn } from "../src/step/launch.ts";
import { checkedSandbox } from "../src/step/view.ts";
import { runCheck } from "../src/trigger/check-script.ts";
import { changedEngine, preparedPodman, scriptedEngine } from "./engine.ts";

/* Steps in containers: their start, their view from inside, and engines that ignore arguments. */
setDefaultTimeout(180_000);
const top = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-engines-")));
afterAll(() => rmSync(top, { recursive: true, force: true }));
const podman = preparedPodman(join(top, "podman"));
const scripted = join(top, "scripted/docker");
scriptedEngine(scripted, "agent:1");

type Tested = {
  name: "docker" | "podman";
  title: string;
  path: string;
  image: string;
  missing: string;
};
const engines: Tested[] = [
  {
    ...{
      name: "docker",
      title: "an engine that starts bubblewrap",
      path: scripted,
      image: "agent:1",
    },
    missing: Bun.which("bwrap") ? "" : "bubblewrap is not installed",
  },
  "missing" in podman
    ? { name: "podman", title: "podman", path: "", image: "", missing: podman.missing }
    : { name: "podman", title: "podman", ...podman, missing: "" },
];

let home = "";
let project = "";
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-home-")));
  project = join(home, "site");
  for (const folder of [project, join(home, "bin"), join(home, "plans")]) mkdirSync(folder);
  writeFileSync(join(home, "plans/secrets.json"), "{}", { mode: 0o600 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const running = (text: string): boolean =>
  readdirSync("/proc").some((id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });

for (const { image, missing, name, path, title } of engines) {
  const left = missing === "" ? "" : ` (left out: ${missing})`;
  const inContainer = test.skipIf(missing !== "");
  const env = () => ({ PATH: `${join(home, "bin")}:${process.env.PATH}`, HOME: home });
  const question = () => ({
    ...{ planHome: join(home, "plans"), root: home, env: env(), agentNeedsNetwork: false },
  });
  const sandbox = { mode: "container", engine: name, image } as const;
  const metadata = (more: object = {}) => ({ cwd: project, sandbox: { ...sandbox, ...more } });
  const check = (more: object = {}) => checkSandbox({ metadata: metadata(more) }, question());
  const run = async (script: string, more: object = {}) => {
    const command = await scriptCommand(
      { id: "wf_x", metadata: metadata(more) },
      script,
      question(),
    );
    return await runCheck(command, AbortSignal.timeout(150_000));
  };
  const install = (change = "") => changedEngine(join(home, "bin", name), path, change);
  const checked = () =>
    checkedSandbox({ ...question(), metadata: metadata(), cwd: project, root: null });

  /** Starts a script in the same home each time. Returns the script's output after its end. */
  const start = async (script: string, signal = new AbortController().signal): Promise<string> => {
    const launch = await launchIn(await checked(), {
      ...{ command: ["/bin/sh", "-c", script], env: env(), run: join(home, "run"), step: "a" },
      ...{ ipc: null, programs: [] },
    });
    if (launch === null) throw new Error("no sandbox");
    let output = "";
    const keep = (chunk: Uint8Array) => (output += Buffer.from(chunk).toString());
    await runChild({
      ...{ argv: launch.argv, cwd: "/", env: launch.env, descriptors: launch.descriptors() },
      ...{ graceMs: 200, timeoutMs: 120_000, signal, onOutput: keep, onError: keep },
    });
    await launch.end();
    return output;
  };

  describe(title, () => {
    beforeEach(() => install());

    inContainer(`a working container is reported with its effective limits${left}`, async () => {
      const report = await checkSandbox(
        { metadata: metadata() },
        { ...question(), agentCommand: "true" },
      );
      expect(report).toMatchObject({ mode: "container", probe: { visible: [], warning: null } });
      expect(report.text).toContain("public addresses can be reached");
      expect((await check({ network: "none" })).text).toContain("without network");
      const lacks = { ...question(), agentCommand: "none-such" };
      expect(String(await failureOf(checkSandbox({ metadata: metadata() }, lacks)))).toContain(
        'the agent "none-such" can\'t run in the sandbox',
      );
    });

    // Each case removes one barrier. The check must then refuse the container.
    inContainer.each([
      ["the network of this machine", `[ "$one" = none ] && one=host`, "connect ("],
      [
        "a writable settings file",
        `[[ "$one" == *target=/workspace/project/.env,readonly ]] && one="\${one%,readonly}"`,
        "/workspace/project/.env can be written and must not be",
      ],
      [
        "a replaceable folder of hooks",
        `[[ "$one" == *target=/workspace/project/.git/hooks,* ]] && unset 'args[-1]' && continue`,
        "/workspace/project/.git/hooks is not a mount point",
      ],
      [
        "a visible folder that must be hidden",
        `[[ "$one" == *target=/workspace/project/.uncaged,* ]] && unset 'args[-1]' && continue`,
        "/workspace/project/.uncaged is visible and must not be",
      ],
    ])(`a container with %s is refused${left}`, async (_, change, problem) => {
      mkdirSync(join(project, ".git/hooks"), { recursive: true });
      mkdirSync(join(project, ".uncaged"));
      for (const file of [".env", ".git/HEAD"]) writeFileSync(join(project, file), "");
      install(change);
      expect(String(await failureOf(check()))).toContain(problem);
    });

    inContainer(`a folder that is swapped while an engine starts is refused${left}`, async () => {
      const secret = join(home, "secret");
      mkdirSync(secret);
      writeFileSync(join(secret, "key"), "PRIVATE");
      install(
        `case "$one" in *source=${project},*) mv ${project} ${project}-old; ln -s ${secret} ${project} ;; esac`,
      );
      const printed = run("cat /workspace/project/key").catch(String);
      expect(await printed).toContain(
        "/workspace/project was replaced while the sandbox was set up",
      );
      expect(await printed).not.toContain("PRIVATE");
    });

    inContainer(`settings and hooks of the host can't be changed inside${left}`, async () => {
      mkdirSync(join(project, ".git"));
      mkdirSync(join(project, "sub/.uncaged"), { recursive: true });
      for (const file of [".env", "uncaged.json", ".git/HEAD", ".git/config", "sub/.uncaged/log"])
        writeFileSync(join(project, file), "before");
      const printed = await run(
        [
          ...["echo x > .env", "rm -f uncaged.json", "mv .git aside", "echo x > .git/config"],
          ...["echo x > .git/hooks/post-commit", "mv sub aside", "cat sub/.uncaged/log"],
          "echo done > made",
        ]
          .map((one) => `(${one}) 2> /dev/null && echo "open: ${one.replaceAll(">", "to")}"`)
          .join("; "),
      );
      expect(printed.trim()).toBe("open: echo done to made");
      expect(readFileSync(join(project, ".env"), "utf8")).toBe("before");
      expect(readdirSync(join(project, ".git/hooks"))).toEqual([]);
    });

    inContainer(
      `the login file is written inside, not through links of an earlier step${left}`,
      async () => {
        mkdirSync(join(home, ".claude"));
        writeFileSync(join(home, ".claude/.credentials.json"), "LOGIN");
        const target = join(home, "target");
        mkdirSync(target);
        const file = "/workspace/home/.claude/.credentials.json";
        expect(await start(`cat ${file}; rm ${file}; ln -s ${target}/stolen ${file}`)).toBe(
          "LOGIN",
        );
        expect(
          await start(
            `cat ${file}; rm -r /workspace/home/.claude; ln -s ${target} /workspace/home/.claude`,
          ),
        ).toBe("LOGIN");
        await start("true");
        expect(readdirSync(target)).toEqual([]);
      },
    );

    inContainer(
      `only the proxy has a network, and it refuses an address of this machine${left}`,
      async () => {
        const server = await anthropicServer([{ text: "reached" }]);
        try {
          const address = new URL(server.url).host;
          const script = `exec 3<>/dev/tcp/127.0.0.1/\${HTTP_PROXY##*:} && printf 'CONNECT ${address} HTTP/1.1\\r\\n\\r\\n' >&3 && cat <&3`;
          const printed = await run(`bash -c ${JSON.stringify(script).replaceAll("$", "\\$")}`);
          expect(printed).toContain("HTTP/1.1 403");
          const direct = `bash -c 'exec 3<>/dev/tcp/${address.replace(":", "/")}' 2> /dev/null && echo open || echo refused`;
          expect((await run(direct)).trim()).toBe("refused");
        } finally {
          await server.stop();
        }
      },
    );

    inContainer(`a container ends with the process that started it${left}`, async () => {
      const mark = `7${Date.now()}`;
      const source = fileURLToPath(new URL("../src/", import.meta.url));
      const file = join(home, "starts.ts");
      const command = { id: "wf_x", metadata: metadata() };
      writeFileSync(
        file,
        `import { scriptCommand } from "${source}entry/service.ts";
import { spawn } from "node:child_process";
const { argv: [engine, ...args], descriptors, env } = await scriptCommand(${JSON.stringify(command)}, "trap '' TERM HUP; sleep ${mark}", ${JSON.stringify(question())});
spawn(engine, args, { env, detached: true, stdio: ["ignore", "inherit", "inherit", ...descriptors] });
`,
      );
      const worker = spawn(process.execPath, [file], { stdio: "ignore" });
      try {
        await until(() => running(`sleep\0${mark}`));
        worker.kill("SIGKILL");
        await until(() => !running(`sleep\0${mark}`));
      } finally {
        worker.kill("SIGKILL");
      }
      expect(running(`sleep\0${mark}`)).toBe(false);
    });

    inContainer(
      `a step that suspends the launcher ends when its call is aborted${left}`,
      async () => {
        const mark = `8${Date.now()}`;
        const stop = new AbortController();
        const ended = start(`kill -STOP $PPID; sleep ${mark}`, stop.signal);
        await until(() => running(`sleep\0${mark}`));
        stop.abort();
        await ended;
        await until(() => !running(`sleep\0${mark}`));
      },
    );

    inContainer(`an engine that a step could have written is not used${left}`, async () => {
      const planted = join(project, "bin");
      mkdirSync(planted);
      writeFileSync(join(planted, name), `#!/bin/sh\ntouch ${home}/executed\n`, { mode: 0o755 });
      // The engine's path can be a link into a folder that a step can write to.
      rmSync(join(home, "bin", name));
      symlinkSync(join(planted, name), join(home, "bin", name));
      await failureOf(check());
      expect(existsSync(join(home, "executed"))).toBe(false);
    });
  });
}

const inPodman = test.skipIf("missing" in podman);
const withoutPodman = "missing" in podman ? ` (left out: ${podman.missing})` : "";

inPodman(
  `an image without a JavaScript runtime is refused in one line${withoutPodman}`,
  async () => {
    if ("missing" in podman) return;
    const env = { PATH: `${join(top, "podman")}:${process.env.PATH}`, HOME: home };
    const question = { planHome: join(home, "plans"), root: home, env, agentNeedsNetwork: false };
    for (const network of ["on", "none"] as const) {
      const sandbox = { mode: "container", engine: "podman", image: podman.bare, network } as const;
      const message = String(
        await failureOf(checkSandbox({ metadata: { cwd: project, sandbox } }, question)),
      );
      expect(message).toContain("has neither node nor bun, so its network can't be filtered");
      expect(message).not.toContain("\n");
    }
  },
);
