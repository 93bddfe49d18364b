// Runs the main task on real input with the real command: build, add, run live, fork, add a new version, roll back.
//
//     npm run quickstart [path of a git repository]
import { cpSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";

const top = join(import.meta.dir, "..");
const bin = join(top, "node_modules", ".bin");
const usage = "usage: npm run quickstart [path of a git repository] [-- --root <storage root>]";
const colour = process.stdout.isTTY && !process.env.NO_COLOR && process.env.TERM !== "dumb";

/** Exit codes after Ctrl-C, and after the reader of the output has closed the pipe. */
const interrupted = 130;
const unread = 141;

/** Early end of the quickstart: a line for the user and an exit code. */
class Stop extends Error {
  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }
}

const bold = (text: string): string => (colour ? `\u001b[1m${text}\u001b[0m` : text);
const dim = (text: string): string => (colour ? `\u001b[2m${text}\u001b[0m` : text);
const print = (text: string): Promise<number> => Bun.write(Bun.stdout, `${text}\n`);

/** Quotes a word for a shell. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

const { path, root } = argumentsOf(process.argv.slice(2));
const env = {
  ...process.env,
  PATH: [bin, process.env.PATH ?? ""].join(delimiter),
  UNCAGED_WORKFLOW_STORAGE_ROOT: root,
};

function argumentsOf(argv: string[]): { path: string | null; root: string } {
  const options = { root: { type: "string" } } as const;
  const began = process.env.INIT_CWD ?? process.cwd();
  try {
    const { positionals, values } = parseArgs({ args: argv, options, allowPositionals: true });
    if (positionals.length > 1) throw new Error("at most one path is allowed");
    const [given] = positionals;
    return {
      path: given === undefined ? null : resolve(began, given),
      root: values.root ? resolve(began, values.root) : join(top, ".quickstart"),
    };
  } catch (error) {
    console.error(`error: ${error instanceof Error ? error.message : String(error)}; ${usage}`);
    process.exit(2);
  }
}

function git(folder: string, ...args: string[]): { ok: boolean; stderr: string } {
  if (!Bun.which("git")) throw new Stop("git was not found; hint: install git", 1);
  // A git hook that runs this program sets GIT_DIR, which would make every folder a repository.
  const { GIT_DIR: _dir, GIT_WORK_TREE: _tree, GIT_INDEX_FILE: _index, ...plain } = process.env;
  const done = Bun.spawnSync(["git", ...args], { cwd: folder, stdin: "ignore", env: plain });
  return { ok: done.success, stderr: done.stderr.toString().trim() };
}

const isRepository = (folder: string): boolean => git(folder, "rev-parse", "--git-dir").ok;

/** Returns the repository to review: the given repository, this repository, or a new small repository. */
function repository(): { folder: string; made: boolean } {
  if (path === null) {
    return isRepository(top) ? { folder: top, made: false } : { folder: makeOne(), made: true };
  }
  const hint = "hint: give the path of a git repository";
  if (!existsSync(path)) throw new Stop(`no such folder: ${path}; ${hint}`, 2);
  if (!statSync(path).isDirectory()) throw new Stop(`${path} is not a folder; ${hint}`, 2);
  const { ok, stderr } = git(path, "rev-parse", "--git-dir");
  if (!ok) {
    const [why = ""] = stderr.split("\n");
    const known = why.includes("not a git repository");
    throw new Stop(known ? `${path} is not a git repository; ${hint}` : `${path}: ${why}`, 2);
  }
  return { folder: path, made: false };
}

/** Copies the sources of this project into a repository with one commit, for a checkout without history. */
function makeOne(): string {
  const folder = mkdtempSync(join(tmpdir(), "uncaged-quickstart-"));
  for (const name of ["examples", "packages/workflow/src", "packages/cli-workflow/src"]) {
    cpSync(join(top, name), join(folder, name), { recursive: true });
  }
  const author = ["-c", "user.name=quickstart", "-c", "user.email=quickstart@example.com"];
  const commit = [...author, "-c", "commit.gpgSign=false", "commit", "--quiet", "-m", "Begin"];
  for (const args of [["init", "--quiet"], ["add", "--all"], commit]) {
    const { ok, stderr } = git(folder, ...args);
    if (!ok) throw new Stop(`git ${args.at(-1)} failed: ${stderr}`, 1);
  }
  return folder;
}

let headings = 0;

async function heading(text: string): Promise<void> {
  headings += 1;
  await print(`\n${bold(`${headings}. ${text}`)}`);
}

/** Prints a command, then runs it exactly as printed. */
async function shell(folder: string, ...words: string[]): Promise<void> {
  const shown = words.map(quoted).join(" ");
  await print(`${dim("$")} ${folder === top ? "" : `cd ${quoted(folder)} && `}${shown}`);
  const child = Bun.spawn([join(bin, words[0] ?? ""), ...words.slice(1)], {
    cwd: folder,
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const code = await child.exited;
  if (code === unread) throw Object.assign(new Error("output pipe closed"), { code: "EPIPE" });
  if (code === interrupted) throw new Stop("interrupted", interrupted);
  if (code !== 0) throw new Stop(`the command ended with exit code ${code}: ${shown}`, 1);
}

const uncaged = (...words: string[]): Promise<void> => shell(top, "uncaged-workflow", ...words);

async function tour(folder: string): Promise<void> {
  await heading("Build and register the example, a repository reviewer");
  await uncaged("add", "review", "examples/review-repository/workflow.ts");

  await heading("Run the reviewer, live");
  await shell(folder, "uncaged-workflow", "run", "review", "--params", '{"files":4}', "--follow");

  await heading("Fork the thread: the planner's step is kept, and later steps run again");
  await uncaged("fork", "@last", "--from-role", "planner", "--follow");

  await heading("Register a changed version, and run that version with the same plan");
  await uncaged("add", "review", "examples/review-repository/workflow-v2.ts");
  await uncaged("fork", "@last", "--from-role", "planner", "--on", "review", "--follow");

  await heading("Back to the first version; each thread keeps the version that it ran on");
  await uncaged("history", "review");
  await uncaged("rollback", "review");
  await uncaged("threads", "--limit", "3");
}

/** Returns the shortest form of a path in a folder. */
function shortest(from: string, to: string): string {
  const near = relative(from, to) || ".";
  return near.length < to.length ? near : to;
}

/** Returns the command as the user's shell finds it in the start folder. */
function commandHere(): string {
  const here = process.env.INIT_CWD ?? top;
  return quoted(shortest(here, join(bin, "uncaged-workflow")));
}

async function farewell(): Promise<void> {
  const here = process.env.INIT_CWD ?? top;
  const command = commandHere();
  const at = `--root ${quoted(shortest(here, root))}`;
  const next: [string, string][] = [
    [`${command} serve --open ${at}`, "open the console in a browser"],
    [`${command} thread @last --full ${at}`, "read the report"],
    [`${command} verify ${at}`, "check every bundle and every log"],
    [`${command} new my-workflow`, "create your own workflow"],
  ];
  const width = Math.max(...next.map(([line]) => line.length));
  await print(`
${bold("Where the files are")}
  ${join(root, "logs")}     one log per thread, as JSON lines
  ${join(root, "bundles")}  one file per version; it never changes
  Your own store was not touched: to undo the quickstart, delete ${root}

${bold("Try next")}
${next.map(([line, why]) => `  ${line.padEnd(width)}  ${dim(`# ${why}`)}`).join("\n")}`);
}

async function main(): Promise<void> {
  const { folder, made } = repository();
  try {
    await print(bold("uncaged-workflow: one file is a workflow, one log is a thread"));
    if (made)
      await print("This folder is not a git repository: the tour reviews a copy of its sources.");
    await print(`${dim("$")} export PATH=${quoted(bin)}:"$PATH"`);
    await print(`${dim("$")} export UNCAGED_WORKFLOW_STORAGE_ROOT=${quoted(root)}`);
    await tour(folder);
    await farewell();
  } finally {
    if (made) rmSync(folder, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  // A reader that closes the pipe early (`| head`) is not a failure.
  const closed = error instanceof Error && "code" in error && error.code === "EPIPE";
  if (!closed) console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = error instanceof Stop ? error.code : closed ? 0 : 1;
}
