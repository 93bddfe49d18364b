// Runs a script with the pinned Bun on a machine that may have only Node and npm:
//
//     node scripts/with-bun.mjs <script> [arguments]
//
// Only package.json has Bun's version. npm can fetch Bun but can't read the `workspace:`
// dependencies of this repository, so npm installs Bun and Bun installs everything else.
import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, ".cache");
const pinned = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies.bun;

const report = (line) => process.stderr.write(`${line}\n`);

function fail(line) {
  report(`error: ${line}`);
  process.exit(1);
}

/** Returns a hint about a failed install from its output. */
function reason(output) {
  if (
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ConnectionRefused|FailedToOpenSocket|UnableToConnect|ConnectionClosed/i.test(
      output,
    )
  ) {
    return "the package registry can't be reached; check the network and try again";
  }
  if (/ENOSPC|NoSpaceLeft/i.test(output)) return "the disk is full";
  const lines = output.split("\n").map((line) => line.trim());
  const named = lines.find((line) => /error/i.test(line));
  return named?.replace(/^(npm )?error:? */i, "") ?? lines.filter(Boolean).at(-1) ?? "no message";
}

/** Returns the environment for npm and Bun, with a separate cache when the home folder is not writable. */
function environment() {
  const env = { ...process.env };
  try {
    accessSync(homedir(), constants.W_OK);
  } catch {
    env.BUN_INSTALL_CACHE_DIR ??= join(cache, "bun-install");
    env.npm_config_cache = join(cache, "npm");
  }
  return env;
}

const versionOf = (bun) => {
  const { status, stdout } = spawnSync(bun, ["--version"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : null;
};

/** Returns the binary of the npm package `bun` in a node_modules if it has the pinned version. */
function bunIn(modules) {
  const manifest = join(modules, "bun", "package.json");
  if (!existsSync(manifest)) return null;
  if (JSON.parse(readFileSync(manifest, "utf8")).version !== pinned) return null;
  const candidates = [join(modules, "bun", "bin", "bun.exe")];
  // When npm skips install scripts, bun.exe is a text file and the binary is in the package beside it.
  const scope = join(modules, "@oven");
  if (existsSync(scope)) {
    for (const name of readdirSync(scope)) candidates.push(join(scope, name, "bin", "bun"));
  }
  return candidates.find((bun) => existsSync(bun) && versionOf(bun) === pinned) ?? null;
}

function fetchBun(env) {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < 20) fail(`Node 20 or newer is required, but this is Node ${process.versions.node}`);
  const prefix = join(cache, `bun-${pinned}`);
  const modules = join(prefix, "node_modules");
  const fetched = bunIn(modules);
  if (fetched) return fetched;
  report(`Fetching Bun ${pinned} with npm…`);
  mkdirSync(prefix, { recursive: true });
  const npm = process.env.npm_execpath?.endsWith("npm-cli.js")
    ? [process.execPath, process.env.npm_execpath]
    : ["npm"];
  const args = ["install", `bun@${pinned}`, "--prefix", prefix, "--no-save", "--no-package-lock"];
  // By default, npm retries for more than a minute before it reports a missing network.
  args.push("--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000");
  const options = { cwd: prefix, env, encoding: "utf8" };
  const done = spawnSync(npm[0], [...npm.slice(1), ...args], options);
  if (done.error) fail(`npm can't be run: ${done.error.message}`);
  if (done.status !== 0) fail(`Bun can't be fetched: ${reason(done.stderr)}`);
  return (
    bunIn(modules) ?? fail(`npm installed no Bun ${pinned} for ${process.platform} ${process.arch}`)
  );
}

/** Returns a Bun for the installation: the current runtime, the installed Bun, or one installed by npm. */
function findBun(env) {
  if (process.versions.bun) return process.execPath;
  const launcher = process.env.npm_execpath;
  const byBun = process.env.npm_config_user_agent?.startsWith("bun/");
  if (byBun && launcher && versionOf(launcher)) return launcher;
  return bunIn(join(root, "node_modules")) ?? fetchBun(env);
}

function install(bun, env) {
  const fresh = !existsSync(join(root, "node_modules"));
  if (fresh) report("Installing the packages with Bun…");
  const args = ["install", "--frozen-lockfile"];
  const done = spawnSync(bun, args, { cwd: root, env, encoding: "utf8" });
  if (done.error) fail(`Bun can't be run: ${done.error.message}`);
  if (done.status !== 0) fail(`the packages can't be installed: ${reason(done.stderr)}`);
}

function run(bun, args, env) {
  // `bun` in the script's PATH is the same Bun, even when .bin/bun is npm's text file.
  const path = [dirname(bun), join(root, "node_modules", ".bin"), env.PATH ?? ""].join(delimiter);
  const child = spawn(bun, ["--no-env-file", ...args], {
    stdio: "inherit",
    env: { ...env, PATH: path },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      // The terminal has already sent ^C to the whole process group.
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on("error", (error) => fail(`Bun can't be run: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const [script, ...args] = process.argv.slice(2);
if (!script) fail("usage: node scripts/with-bun.mjs <script> [arguments]");
const env = environment();
const bun = findBun(env);
install(bun, env);
run(bunIn(join(root, "node_modules")) ?? bun, [join(root, script), ...args], env);
