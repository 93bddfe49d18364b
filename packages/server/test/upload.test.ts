import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Failure } from "../src/entry/api-types.ts";
import { Serving, stopServing } from "./serving.ts";

let serving: Serving;
let secret: string;

const child = {
  version: "3.16",
  name: "child",
  registry: {},
  steps: [{ id: "Stop_End", reason: "kept on the server" }],
};

beforeAll(async () => {
  serving = await Serving.start();
  secret = serving.write("secret.txt", "kept on the server");
  serving.write("child.json", JSON.stringify(child));
}, 180_000);
afterAll(stopServing, 180_000);

const flow = (imports: string) => `${imports}
export const descriptor = { description: secret, roles: {} };
export async function* run() {
  yield { role: "a", content: secret, meta: {} };
  return { returnCode: 0, summary: "" };
}
`;

const send = async (file: string, files: Record<string, string>) => {
  const { status, body } = await serving.ask<Failure>(`/api/workflows/sent?file=${file}`, {
    files,
  });
  return { status, ...body.error };
};

test("an uploaded source can't import a file of the server, by any path", async () => {
  const folder = serving.folder;
  const upwards = `../../../../../../../..${secret}`;
  const mapped = JSON.stringify({ compilerOptions: { paths: { "#x": [secret] } } });
  for (const [imports, more] of [
    [`import secret from ${JSON.stringify(secret)};`, {}],
    [`import secret from ${JSON.stringify(upwards)};`, {}],
    [`const { default: secret } = await import(${JSON.stringify(secret)});`, {}],
    [`const secret = require(${JSON.stringify(secret)});`, {}],
    ['import secret from "#x" with { type: "text" };', { "tsconfig.json": mapped }],
  ] as const) {
    const answer = await send("flow.ts", { "flow.ts": flow(imports), ...more });
    expect(answer).toMatchObject({ status: 400, code: "BUILD_FAILED" });
    expect(answer.message).toMatch(/^flow\.ts: Could not resolve: /);
    expect(JSON.stringify(answer)).not.toContain(`${folder}/root`);
  }
});

test("an uploaded file can import other uploaded files and @uncaged/workflow", async () => {
  const imports = 'import { durable } from "@uncaged/workflow"; import secret from "./own.txt";';
  const files = { "flow.ts": flow(`${imports} durable;`), "own.txt": "sent along" };
  expect((await send("flow.ts", files)).status).toBe(200);
});

test("an uploaded step workflow can't run a document of the server", async () => {
  const path = `../../../../../../../..${serving.folder}/child.json`;
  const parent = {
    ...child,
    steps: [{ id: "Subflow_Child", in: { workflow_path: path }, next: "RETURN" }],
  };
  const answer = await send("flow.json", { "flow.json": JSON.stringify(parent) });
  expect(answer).toMatchObject({ status: 400, code: "SUBFLOW_MISSING" });
});
