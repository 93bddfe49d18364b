// A replacement for a coding agent. The first argument selects its action.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const [, , what, ...args] = process.argv;
const stdin = () => readFileSync(0, "utf8");
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const does = {
  echo: () => process.stdout.write(stdin()),
  args: () => process.stdout.write(JSON.stringify({ args, stdin: stdin(), cwd: process.cwd() })),
  env: () => process.stdout.write(JSON.stringify(process.env)),
  nothing: () => undefined,
  fail: () => {
    process.stderr.write(`starting\nfatal: no account for ${process.env.AGENT_TOKEN}\n\n`);
    process.exit(7);
  },
  secret: () => {
    const secret = process.env.AGENT_TOKEN;
    process.stdout.write(`my token is ${secret.slice(0, 5)}`);
    setTimeout(() => process.stdout.write(`${secret.slice(5)}, keep it`), 50);
  },
  flood: () => {
    const piece = "x".repeat(1024 * 1024);
    for (let i = 0; i < 100; i++) process.stdout.write(piece);
  },
  floodLine: () => {
    const piece = "x".repeat(1024 * 1024);
    for (let i = 0; i < 100; i++) process.stdout.write(piece);
    process.stdout.write("\n");
    say({ answer: "too late" });
  },
  hang: () => {
    process.on("SIGTERM", () => writeFileSync("asked-to-end", "yes"));
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    writeFileSync("grandchild", String(child.pid));
    process.stdout.write("thinking");
    setInterval(() => undefined, 1000);
  },
  killed: () => process.kill(process.pid, "SIGKILL"),
  lines: () => {
    process.stdout.write("not JSON\n");
    say({ think: "hm" });
    say({ text: "par" });
    say({ text: "tial" });
    say({ unknown: true });
    say([null, 1]);
    say({ session: args[0] ? `${args[0]}+` : "s1" });
    process.stdout.write(JSON.stringify({ answer: stdin() }));
  },
  play: () => {
    stdin();
    process.stdout.write(readFileSync(process.env.AGENT_LINES, "utf8"));
    writeFileSync("argv.json", JSON.stringify(args));
  },
};

does[what]();
