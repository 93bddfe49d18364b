import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command } from "../packages/cli-workflow/test/command.ts";
import { samplesIn } from "./samples.ts";
import { top } from "./source.ts";

/* Runs the commands of docs/reference/server.md in sequence, like a user whose server has another port. */
const folder = mkdtempSync(join(tmpdir(), "uw-server-docs-"));
const env = {
  PATH: process.env.PATH ?? "",
  HOME: folder,
  UNCAGED_WORKFLOW_IDLE_MS: "300",
};
const guide = readFileSync(join(top, "docs/reference/server.md"), "utf8");

const greet = `export const descriptor = {
  description: "Greets.",
  roles: { greeter: { description: "says hello", schema: true } },
};
export async function* run({ prompt }: { prompt: string }) {
  yield { role: "greeter", content: "hello " + prompt, meta: {} };
  return { returnCode: 0, summary: "greeted" };
}
`;

/** Returns the guide's JSON block that contains a text. */
function sample(text: string): string {
  const found = samplesIn(guide, "json").find((block) => block.includes(text));
  if (found === undefined) throw new Error(`the guide has no ${text}`);
  return found;
}

let server: Bun.Subprocess<"ignore", "pipe", "inherit">;
let url = "";

beforeAll(async () => {
  writeFileSync(join(folder, "greet.ts"), greet);
  writeFileSync(join(folder, "note.json"), sample('"name": "note"'));
  server = Bun.spawn([command, "serve", "--port", "0", "--json"], {
    cwd: folder,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await server.stdout.getReader().read();
  const { port } = JSON.parse(new TextDecoder().decode(value)) as { port: number };
  url = `http://127.0.0.1:${port}`;
}, 180_000);

afterAll(async () => {
  server.kill("SIGINT");
  await server.exited;
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}, 180_000);

test("the guide's commands do what it describes", async () => {
  const blocks = samplesIn(guide, "sh");
  expect(blocks.length).toBeGreaterThan(2);
  const script = ["shopt -s expand_aliases", "set -eu", ...blocks].join("\n");
  const shell = Bun.spawn(["bash", "-c", script.replaceAll("http://127.0.0.1:9160", url)], {
    cwd: folder,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [code, stdout, stderr] = await Promise.all([
    shell.exited,
    shell.stdout.text(),
    shell.stderr.text(),
  ]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toContain('"name":"greet"');
  expect(stdout).toContain('"content":"hello you"');
  expect(stdout).toContain('{"status":"completed","result":{"returnCode":0,"summary":"greeted"}}');
  expect(stdout).toContain("event: reload\n");
  expect(stdout).toContain('"variables":{"$text":"Dear you","$leave":null}');
  expect(stdout).toContain('event: workflow_done\ndata: {"stepID":null,');
  expect(stdout).toContain('{"$text":"Dear you","$leave":{"line":"hello"}}["note.txt"]');
  expect(stdout).toMatch(/\{"runID":"\w{26}","status":"(running|paused|stopped)"\}data: /);
  expect(stdout).toContain('"content":"User approved this step. Feedback: soon"');
  expect(stdout).toMatch(
    /"status":"cancelled",.*"waitingForInput":false,"currentNodeId":"again","question":null\}retry:/,
  );
  expect(stdout).toContain("event: plans\n");
}, 180_000);

test("the guide lists exactly the paths of the API", async () => {
  const { token } = JSON.parse(
    readFileSync(join(folder, ".uncaged/workflow/run/server.json"), "utf8"),
  ) as { token: string };
  const headers = { Authorization: `Bearer ${token}` };
  const reply = await fetch(`${url}/api/openapi.json`, { headers });
  const { paths } = (await reply.json()) as { paths: Record<string, Record<string, unknown>> };
  const offered = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(documentedPaths().sort()).toEqual(offered.sort());
});

/**
 * Returns the paths in the guide's tables. Other code spans in a row replace the last word of the row's first path,
 * or follow its last parameter.
 */
function documentedPaths(): string[] {
  const rows = [
    ...guide.matchAll(/^\| (`(?:GET|POST|DELETE) \/(?:api|workflow)\/[^|]*) \|([^\n]*)\|$/gm),
  ];
  return rows.flatMap(([, first = "", rest = ""]) => {
    const spans = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
    const [whole = "", ...endings] = [...spans(first), ...spans(rest)].filter((span) =>
      /^(?:(?:GET|POST|DELETE) )?\//.test(span),
    );
    const plain = (path: string) => path.replace(/\?.*$/, "").replace(/:(\w+)/g, "{$1}");
    const base = plain(whole);
    const siblings = base.replace(/\/[a-z-]+$/, "");
    return [base, ...endings.map((ending) => siblings + plain(ending))];
  });
}
