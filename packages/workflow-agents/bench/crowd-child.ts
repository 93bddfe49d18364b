// So many bare clients that read a stream at once: `crowd-child.ts <number> <url>`. It prints its process's highest
// memory in bytes.
import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";

const [number = "1", baseURL] = process.argv.slice(2);
const client = new Anthropic({ apiKey: "sk-bench-0123456789", baseURL });

async function read(): Promise<number> {
  const messages = [{ role: "user" as const, content: "go" }];
  const asked = { model: "m", max_tokens: 10, messages, stream: true } as const;
  const parts: string[] = [];
  for await (const event of await client.messages.create(asked)) {
    if (event.type !== "content_block_delta") continue;
    if (event.delta.type === "text_delta") parts.push(event.delta.text);
  }
  return parts.join("").length;
}

const lengths = await Promise.all(Array.from({ length: Number(number) }, read));
if (lengths.includes(0)) throw new Error("nothing came");
// Not that of `resourceUsage`, in which a process begins with its parent's.
console.log(
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024,
);
process.exit(0);
