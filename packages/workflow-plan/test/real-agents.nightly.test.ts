import { expect, setDefaultTimeout, test } from "bun:test";
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import { missing, type User, users } from "./hostile/users.ts";
import { Person } from "./real-agents/person.ts";
import {
  gitOverHttps,
  gitOverSsh,
  npmRegistry,
  repositoryIn,
  sshMissing,
} from "./real-agents/servers.ts";

/*
 * The needs of agents and their programs in the sandbox: a login, an interpreter, git and npm. The command line starts
 * plans in workers, as root and as an ordinary user.
 */
setDefaultTimeout(600_000);

const agents = createRequire(import.meta.resolve("@uncaged/workflow-agents"));
const wrapper = agents.resolve("@anthropic-ai/claude-code/package.json");
const platform = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`;
const claudeBinary = join(dirname(createRequire(wrapper).resolve(platform)), "claude");
const scriptAgent = readFileSync(join(import.meta.dir, "agents/script.mjs"), "utf8");

async function as(user: User, work: (person: Person) => Promise<void>): Promise<void> {
  const person = new Person(user);
  try {
    await work(person);
  } finally {
    await person.close();
  }
}

/** Installs Claude Code where `npm install --global` with the prefix `~/.local` would. */
function installClaude(person: Person): void {
  const at = "lib/node_modules/@anthropic-ai/claude-code";
  person.write(`.local/${at}/package.json`, readFileSync(wrapper), 0o644);
  person.link(".local/bin/claude", `../${at}/bin/claude.exe`);
  person.own();
  const program = join(person.home, ".local", at, "bin/claude.exe");
  mkdirSync(dirname(program));
  try {
    linkSync(claudeBinary, program);
  } catch {
    copyFileSync(claudeBinary, program);
  }
}

const quiet = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", CLAUDE_CODE_MAX_RETRIES: "0" };
const bash = (command: string): Reply => ({
  tools: [{ name: "Bash", input: { command, description: "Does it" } }],
});

/** Starts a server of this machine that the sandbox must not reach. */
function closedServer() {
  let hits = 0;
  const answer = () => new Response(`reached ${(hits += 1)}`);
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  return { port: server.port, hits: () => hits, stop: () => server.stop(true) };
}

const refusal: Reply = {
  fault: { kind: "status", status: 400, type: "invalid_request_error", message: "not now" },
};

const authority = ({ headers }: { headers: Record<string, unknown> }) => [
  headers.authorization,
  headers["x-api-key"],
];

test.skipIf(missing !== "").each(users)(
  `Claude Code works with a login file, over two attempts, and with a key, as $name${missing}`,
  (user) =>
    as(user, async (person) => {
      const closed = closedServer();
      const ask = ["", "--noproxy ''"]
        .map((how) => `curl -sf -m 20 ${how} http://127.0.0.1:${closed.port}/`)
        .join(" || ");
      let afterTool = refusal;
      const server = await anthropicServer(({ messages }) => {
        if (!JSON.stringify(messages).includes("tool_result"))
          return bash(`${ask} || echo not-"reached" in $PWD`);
        // A resumed session has the prompt of each attempt.
        const prompts = JSON.stringify(messages).split("look around").length - 1;
        return prompts === 1 ? afterTool : { text: "resumed" };
      });
      const said = "not-reached in /workspace/project";
      try {
        installClaude(person);
        const login = {
          claudeAiOauth: {
            ...{ accessToken: server.key, refreshToken: "sk-test-refresh" },
            ...{ expiresAt: Date.now() + 8 * 3_600_000, subscriptionType: "max" },
            scopes: ["user:inference", "user:profile"],
          },
        };
        const file = person.write(".claude/.credentials.json", JSON.stringify(login));
        person.own();
        const env = { ...quiet, ANTHROPIC_BASE_URL: server.url };
        const task = { agent: "claude", env, steps: { a: "look around" } };
        const byFile = await person.ran({ ...task, retries: 1 });
        expect(byFile.outputs).toEqual({ a: "resumed" });
        const started = byFile.records.filter(({ meta }) => meta.event === "started");
        expect(started.map(({ meta }) => meta.sandbox)).toEqual(["bubblewrap", "bubblewrap"]);
        const last = server.came.splice(0).map((one) => [authority(one), one.body] as const);
        for (const [given] of last) expect(given).toEqual([`Bearer ${server.key}`, undefined]);
        expect(JSON.stringify(last.at(-1))).toContain(said);
        expect(closed.hits()).toBe(0);
        expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(login);
        expect(readdirSync(join(person.home, ".cache/uncaged-workflow/runs"))).toEqual([]);

        rmSync(file);
        afterTool = { text: "by key" };
        const withKey = { ...env, ANTHROPIC_API_KEY: server.key };
        const byKey = await person.ran({ ...task, env: withKey });
        expect(byKey.outputs).toEqual({ a: "by key" });
        for (const one of server.came) expect(authority(one)).toEqual([undefined, server.key]);
        expect(JSON.stringify(server.came.at(-1)?.body)).toContain(said);
        expect(JSON.stringify([byFile, byKey])).not.toContain(server.key);
      } finally {
        await Promise.all([closed.stop(), server.stop()]);
      }
    }),
);

test.skipIf(missing !== "").each(users)(
  `agents below the home directory and of version managers work, as $name${missing}`,
  (user) =>
    as(user, async (person) => {
      const { home } = person;
      const nvm = ".nvm/versions/node/v20.0.0";
      const npm = dirname(dirname(realpathSync(Bun.which("npm") ?? "")));
      person.write(`${nvm}/bin/node`, readFileSync(realpathSync(Bun.which("node") ?? "")), 0o755);
      cpSync(npm, join(home, nvm, "lib/node_modules/npm"), { recursive: true });
      person.link(`${nvm}/bin/npm`, "../lib/node_modules/npm/bin/npm-cli.js");
      person.write(".bun/versions/1/bun", readFileSync(process.execPath), 0o755);
      person.link(".bun/bin/bun", "../versions/1/bun");
      const bins = [".nvm/versions/node/v20.0.0/bin", ".bun/bin"].map((path) => join(home, path));
      const env = { PATH: [...bins, person.env.PATH].join(":") };

      person.write(".local/share/agent/1.0/agent.mjs", scriptAgent, 0o755);
      person.link(".local/bin/agent", "../share/agent/1.0/agent.mjs");
      // Some installers put a program, its interpreter and its code in one folder.
      const start = '#!/bin/sh\nexec node "$(dirname "$(readlink -f "$0")")/code/agent.mjs" "$@"\n';
      person.write(".local/share/parted/versions/1.0/parted", start, 0o755);
      person.write(".local/share/parted/versions/1.0/code/agent.mjs", scriptAgent, 0o644);
      person.write(".local/share/parted/login", "private");
      person.link(".local/bin/parted", "../share/parted/versions/1.0/parted");
      const ofBun = scriptAgent.replace("env node", "env bun");
      person.write(".local/bin/of-bun", ofBun, 0o755);
      person.write(
        ".local/bin/of-none",
        scriptAgent.replace("env node", "env no-such-node"),
        0o755,
      );
      person.own();

      const whole = "node -p process.execPath; npm --version > /dev/null && pwd";
      const nodeIs = `${join(home, nvm, "bin/node")}\n/workspace/project`;
      const linked = await person.ran({ agent: "agent", env, steps: { a: whole } });
      expect(linked.outputs).toEqual({ a: nodeIs });
      expect(linked.shown).toContain(join(home, nvm));

      const look = `node -p 1; cat ${home}/.local/share/parted/login`;
      const parted = await person.ran({ agent: "parted", env, steps: { a: look } });
      expect(parted.outputs.a).toMatch(/^1\ncat: .*: No such file or directory$/);

      const name = "bun -e 'console.log(process.execPath)'";
      const byBun = await person.ran({ agent: "of-bun", env, steps: { a: name } });
      expect(byBun.outputs).toEqual({ a: join(home, ".bun/versions/1/bun") });

      const none = await person.confirm({ agent: "of-none", env, steps: { a: "true" } });
      expect(none.code).not.toBe(0);
      expect(none.stderr).toContain('the agent "of-none" can\'t run in the sandbox: ');
      expect(none.stderr).toContain("no-such-node");
      expect(none.stderr.trim()).not.toContain("\n");
    }),
);

const ssh = sshMissing === "" ? "" : ` (without ssh: ${sshMissing} is missing)`;

test.skipIf(missing !== "").each(users)(
  `git over https and ssh, and npm, reach only the addresses that the user allows, as $name${missing}${ssh}`,
  (user) =>
    as(user, async (person) => {
      const folder = mkdtempSync(join(tmpdir(), "servers-"));
      const bare = repositoryIn(folder, "of the repository\n");
      const https = gitOverHttps(folder, bare);
      const registry = npmRegistry(folder, "of the package");
      const shell = sshMissing === "" ? await gitOverSsh(folder, bare) : null;
      try {
        person.write(".local/bin/agent", scriptAgent, 0o755);
        person.write("projects/site/ca.pem", readFileSync(https.certificate), 0o644);
        const key = shell === null ? "" : readFileSync(shell.key);
        person.write("projects/site/deploy", key, 0o600);
        person.own();
        const work = "cd /workspace/work && export GIT_TERMINAL_PROMPT=0 &&";
        const options = "-i /workspace/project/deploy -o StrictHostKeyChecking=accept-new";
        const from = `ssh://${shell?.user}@${shell?.address}${bare}`;
        const at = `http://${registry.address}/`;
        const steps = {
          https: `${work} GIT_SSL_CAINFO=/workspace/project/ca.pem git clone -q https://${https.address}/repo.git https && cat https/readme`,
          npm: `${work} mkdir npm && cd npm && npm install --registry ${at} --fetch-retries 0 small-thing > out 2>&1 && node -p 'require("small-thing")' || cat out`,
          ...(shell && {
            ssh: `${work} GIT_SSH_COMMAND='ssh ${options}' git clone -q ${from} ssh && cat ssh/readme`,
          }),
        };
        const servers = [https, registry, shell].flatMap((one) => one?.address ?? []);
        person.allow(servers);
        const open = await person.ran({ agent: "agent", steps });
        expect(open.outputs.https).toBe("of the repository");
        expect(open.outputs.npm).toBe("of the package");
        if (shell) expect(open.outputs.ssh).toContain("of the repository");
        for (const address of servers) expect(open.shown).toContain(address);

        registry.came.length = 0;
        person.allow([]);
        const shut = await person.ran({ agent: "agent", steps });
        expect(registry.came).toEqual([]);
        for (const output of Object.values(shut.outputs)) {
          expect(output).not.toContain("of the ");
          expect(output).toMatch(/403|refused: /);
        }
        if (shell)
          expect(shut.outputs.ssh).toStartWith(`${shell.address}: refused: loopback address; `);
      } finally {
        await Promise.all([https, registry, shell].map((one) => one?.stop()));
        rmSync(folder, { recursive: true, force: true });
      }
    }),
);

test.skipIf(missing !== "").each(users)(
  `roles of a workflow are commands in a sandbox, and Claude Code continues in its session, as $name${missing}`,
  (user) =>
    as(user, async (person) => {
      const replies = [bash("pwd; ls -A ~"), { text: "first" }, { text: "second" }];
      const server = await anthropicServer((_, nth) => replies[nth] ?? {});
      try {
        installClaude(person);
        person.write("letter", "private");
        Bun.spawnSync(["git", "init", "-q", person.project]);
        person.own();
        const env = { ...quiet, ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: server.key };
        const source = join(import.meta.dir, "real-agents/role.ts");
        const added = await person.run(["add", "roles", source, "--sandbox", "required"]);
        expect(added).toMatchObject({ code: 0 });
        const look = { ...env, LOOK_AT: `${person.home} ${person.home}/letter` };
        const ran = await person.run(["run", "roles", "--wait", "--json"], look);
        expect(ran).toMatchObject({ code: 0 });
        const shown = await person.run(["thread", "@last", "--json"]);
        const { steps } = JSON.parse(shown.stdout) as {
          steps: { role: string; content: string }[];
        };
        const [looked, ...worked] = steps.filter(({ role }) => !role.startsWith("__"));
        expect(worked.map(({ content }) => content)).toEqual(["first", "second"]);
        expect(looked?.content).toStartWith(`${person.project}\n`);
        expect(looked?.content).toContain("letter': No such file");
        expect(readFileSync(join(person.project, "made"), "utf8")).toBe("made\n");
        expect(existsSync(join(person.project, ".git/hooks/pre-commit"))).toBe(false);
        const [, , third] = server.came;
        expect(JSON.stringify(third?.body.messages)).toContain(person.project);
        expect(JSON.stringify(third?.body.messages)).toContain("first");
      } finally {
        await server.stop();
      }
    }),
);
