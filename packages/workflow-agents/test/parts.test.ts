import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Attempts } from "@uncaged/workflow/interpreter";
import { file, image, mcpTools, tool, toolRegistry } from "../src/entry/index.ts";
import { z } from "zod";
import { allModels as models, threadAt } from "./models.ts";
import { observed } from "./published.ts";
import type { Reply } from "./wire.ts";

/* Tests pictures and documents in a model's input, from the prompt, a tool, or an MCP server. */
const png = Buffer.from("\x89PNG\r\n\x1a\n....", "latin1");
const pdf = Buffer.from("%PDF-1.7 ....", "latin1");
const data = png.toString("base64");

let cwd = "";
const stops: (() => unknown)[] = [];
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "uncaged-parts-"));
  writeFileSync(join(cwd, "shot.png"), png);
  writeFileSync(join(cwd, "report.pdf"), pdf);
  writeFileSync(join(cwd, "notes.txt"), "the notes");
});
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
  rmSync(cwd, { recursive: true, force: true });
});

describe.each(models)("to $name", (model) => {
  async function play(replies: Reply[], options: Parameters<typeof model.agent>[0]) {
    const server = await model.serve(replies);
    stops.push(server.stop);
    const abort = new AbortController();
    stops.push(() => abort.abort());
    const { env, ...thread } = threadAt(model, server, { cwd, signal: abort.signal });
    const agent = model.agent({ maxRetries: 0, ...options });
    const run = await observed(() =>
      agent({ ...thread, env: { ...env, PATH: process.env.PATH ?? "" } }, "You look."),
    );
    type Body = { messages: { role: string; content: unknown }[] };
    return { run, bodies: server.came.map(({ body }) => body as unknown as Body) };
  }

  const pictureOf: Record<string, object> = {
    anthropic: { type: "image", source: { type: "base64", media_type: "image/png", data } },
    openai: { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } },
    responses: { type: "input_image", detail: "auto", image_url: `data:image/png;base64,${data}` },
  };
  const picture = pictureOf[model.name] ?? {};

  test("a picture, a PDF and a text file are sent with the prompt", async () => {
    const files = () => [image("shot.png"), file("report.pdf"), file("notes.txt")];
    const { run, bodies } = await play([{ text: "seen" }], { files });
    expect(run.error).toBeNull();
    const sent = JSON.stringify(bodies[0]);
    expect(sent).toContain(JSON.stringify(picture).slice(1, -1));
    for (const part of [
      pdf.toString("base64"),
      "report.pdf",
      "the notes",
      "notes.txt",
      "fix the sum",
    ]) {
      expect(sent).toContain(part);
    }
  });

  test("an unreadable file fails the role before its first call", async () => {
    const { run, bodies } = await play([{ text: "seen" }], { files: () => [image("none.png")] });
    expect(run.error).toMatchObject({ code: "BAD_FILE" });
    expect(bodies).toEqual([]);
  });

  test("a tool may return pictures between texts, and events have notes instead of the pictures", async () => {
    const look = tool({
      ...{ name: "look", description: "Looks", input: z.object({ path: z.string() }) },
      execute: ({ path }) => ["It is this:", image(path), { n: 1 }],
    });
    const use = (path: string) => ({ name: "look", input: { path } });
    const { run, bodies } = await play(
      [{ tools: [use("shot.png"), use("report.pdf")] }, { text: "seen" }],
      { tools: toolRegistry([look]) },
    );
    expect(run.error).toBeNull();
    const sent = JSON.stringify(bodies[1]);
    expect(sent).toContain(JSON.stringify(picture).slice(1, -1));
    expect(sent).toContain('It is this:\\n[image image/png, 12 bytes]\\n{\\"n\\":1}');
    expect(sent).toContain("the bytes of report.pdf are not a PNG, JPEG, GIF or WebP");
    const published = JSON.stringify(run.events);
    expect(published).toContain("[image image/png, 12 bytes]");
    expect(published).not.toContain(data);
  });

  test("a tool's picture is recorded with the result, and sent again after a crash", async () => {
    const entries: unknown[] = [];
    const journal = {
      read: async () => entries.map((entry) => ({ entry, failed: false })),
      record: async (_: string, entry: unknown) =>
        Boolean(entries.push(JSON.parse(JSON.stringify(entry)))),
    };
    let ran = 0;
    const look = tool({
      ...{ name: "look", description: "Looks", input: z.object({}) },
      execute: () => image("shot.png", { name: String((ran += 1)) }),
    });
    const server = await model.serve([{ tools: [{ name: "look" }] }, { text: "seen" }]);
    stops.push(server.stop);
    const execution = (outermost: string) =>
      threadAt(model, server, { cwd, journal, key: "k", attempts: { outermost } as Attempts });
    const agent = model.agent({ maxRetries: 0, tools: toolRegistry([look]) });
    expect(await agent(execution("one"), "You look.")).toBe("seen");
    // Simulate a crash before the last answer was recorded.
    entries.pop();
    expect(await agent(execution("two"), "You look.")).toBe("seen");
    const [, last, again, ...more] = server.came.map(({ body }) => JSON.stringify(body));
    expect([again, more]).toEqual([last, []]);
    expect(last).toContain(data);
    expect(ran).toBe(1);
  });

  test("an MCP server's pictures and documents are sent to the model, and notes replace sounds and broken parts", async () => {
    const program = join(import.meta.dir, "mcp/server.ts");
    const sums = mcpTools({ name: "sums", command: process.execPath, args: [program, "stdio"] });
    const { run, bodies } = await play([{ tools: [{ name: "sums__seen" }] }, { text: "seen" }], {
      tools: toolRegistry([sums]),
    });
    expect(run.error).toBeNull();
    const sent = JSON.stringify(bodies[1]);
    expect(sent).toContain(JSON.stringify(picture).slice(1, -1));
    expect(sent).toContain(pdf.toString("base64"));
    expect(sent).toContain("[audio audio/wav, 3 bytes, not shown: audio is not supported]");
    expect(sent).toContain(
      "[image image/png, 3 bytes, not shown: the bytes of a picture are not a PNG",
    );
    expect(sent).toContain("[resource file:///a.txt, a.txt, text/plain]");
  }, 60_000);
});
