#!/usr/bin/env node
import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";

/*
 * A replacement for Claude Code that tests the hook and the tools in its arguments: asks the hook about two commands,
 * and calls one tool. Answers with the results.
 */
const valueOf = (name) => JSON.parse(process.argv[process.argv.indexOf(name) + 1]);
const [{ hooks }] = valueOf("--settings").hooks.PreToolUse;
const ask = (command) => {
  const input = JSON.stringify({ cwd: process.cwd(), tool_name: "Bash", tool_input: { command } });
  const { status, stderr } = spawnSync("sh", ["-c", hooks[0].command], { input, encoding: "utf8" });
  return `${status} ${stderr.trim()}`;
};
const { args, command } = valueOf("--mcp-config").mcpServers.cueclaw;
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const call = async (id, method, params) => {
  send({ id, method, params });
  for (;;) {
    const { value } = await lines.next();
    const message = JSON.parse(value);
    if (message.id === id) return message.result;
  }
};
const clientInfo = { name: "agent", version: "1" };
await call(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
send({ method: "notifications/initialized" });
const { tools } = await call(2, "tools/list", {});
const message = "half of it";
const sent = await call(3, "tools/call", { name: "cueclaw_notify", arguments: { message } });
server.stdin.end();
await new Promise((resolve) => server.once("exit", resolve));
const result = [ask("ls"), ask("sudo ls"), tools.length, sent.content[0].text, process.cwd()].join(
  "\n",
);
const line = { type: "result", subtype: "success", is_error: false, session_id: "s", result };
process.stdout.write(`${JSON.stringify(line)}\n`);
