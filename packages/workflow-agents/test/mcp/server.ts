// An MCP server of the official SDK. Run it as `server.ts stdio`, or as `server.ts http`, which prints its URL.
import { appendFileSync } from "node:fs";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const base64 = (bytes: string) => Buffer.from(bytes, "latin1").toString("base64");

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

function server(): McpServer {
  const mcp = new McpServer({ name: "sums", version: "1.0.0" });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  mcp.registerTool("add", { description: "Adds.", inputSchema }, ({ a, b }) => text(`${a + b}`));
  mcp.registerTool("odd.name", { description: "" }, () => text("odd"));
  mcp.registerTool("fail", {}, () => ({ ...text("no such sum"), isError: true }));
  mcp.registerTool("throw", {}, () => {
    throw new Error("it threw");
  });
  mcp.registerTool("die", {}, () => {
    process.stderr.write("out of numbers\n");
    process.exit(1);
  });
  mcp.registerTool("hang", {}, () => new Promise(() => undefined));
  mcp.registerTool("env", {}, () => {
    process.stderr.write(`the token is ${process.env.SUMS_TOKEN}\n`);
    return text(JSON.stringify({ pid: process.pid, cwd: process.cwd(), env: process.env }));
  });
  mcp.registerTool("seen", {}, () => ({
    content: [
      { type: "image", data: base64("\x89PNG\r\n\x1a\n...."), mimeType: "image/jpeg" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
      { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      { type: "resource_link", uri: "file:///a.txt", name: "a.txt", mimeType: "text/plain" },
      {
        type: "resource",
        resource: {
          uri: "file:///a.pdf",
          mimeType: "application/pdf",
          blob: base64("%PDF-1.7 ...."),
        },
      },
    ],
  }));
  const outputSchema = z.object({ sum: z.number() });
  mcp.registerTool("mixed", { outputSchema }, () => ({
    content: [
      { type: "text", text: "two things" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
    structuredContent: { sum: 3 },
  }));
  return mcp;
}

const [, , how, log] = process.argv;
if (log) appendFileSync(log, `${process.pid}\n`);
if (how === "stdio") {
  process.stderr.write("ready to add\n");
  serveStdio(server);
} else {
  const handler = createMcpHandler(server);
  const { url } = Bun.serve({
    port: Number(process.env.PORT ?? 0),
    hostname: "127.0.0.1",
    fetch(request) {
      if (request.headers.get("authorization") !== "Bearer key-0123456789") {
        return new Response("who are you?", { status: 401 });
      }
      return handler.fetch(request);
    },
  });
  process.stdout.write(`${url.href}mcp\n`);
}
