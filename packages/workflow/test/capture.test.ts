import { expect, test } from "bun:test";

const script = `
  import { isolate } from ${JSON.stringify(import.meta.resolve("../src/worker/isolate.ts"))};
  import { runInContext } from ${JSON.stringify(import.meta.resolve("../src/worker/context.ts"))};
  import { writeSync } from "node:fs";
  const noted = [];
  const context = { threadId: "T", info: { log: (_tag, text) => noted.push(text) }, fail() {} };
  isolate({ failOnly: null, noteUncaught() {} });
  const print = (stream, text) => new Promise((done) => stream.write(text, "latin1", done));
  await runInContext(context, async () => {
    process.stdout.write("by stdout\\n");
    await print(process.stderr, "by stderr");
    console.log("%s and %d", "text", 1, { deep: { er: 1 } });
    console.error("an error");
    console.table([{ a: 1 }]);
    const { stdout } = await import("node:process");
    stdout.write(Buffer.from("by name"));
  });
  console.log("of no thread");
  process.stderr.write("nor this");
  writeSync(3, JSON.stringify(noted));
`;

test("a thread's output goes to its log, by any means of printing, and other output goes to its old target", async () => {
  const child = Bun.spawn([process.execPath, "-e", script], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  const [printed, errors] = [await child.stdout.text(), await child.stderr.text()];
  const noted = JSON.parse(await Bun.file(child.stdio[3] as number).text()) as string[];
  expect(noted.filter((text) => !text.includes("│"))).toEqual([
    "by stdout",
    "by stderr",
    "text and 1 { deep: { er: 1 } }",
    "an error",
    "by name",
  ]);
  expect(noted.filter((text) => text.includes("│"))).toHaveLength(1);
  expect({ printed, errors }).toEqual({ printed: "of no thread\n", errors: "nor this" });
});
