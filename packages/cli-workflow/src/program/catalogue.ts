import type { CommandFile } from "../session/command.ts";

const groups = {
  Workflows: {
    add: "register a bundle, or build a source and register it",
    sync: "register the workflows that the project lists, or check that they are registered",
    list: "list the workflows",
    show: "show a workflow: its roles and versions",
    history: "list the versions of a workflow, newest first",
    check: "replay a workflow's threads on another version, without running a step",
    rollback: "go back to an earlier version, or to a named one",
    bisect: "find the version that broke a thread, with its recorded input",
    remove: "remove a workflow's name, and keep its threads",
  },
  Threads: {
    run: "start a thread and print its id",
    threads: "list threads, newest first",
    thread: "show a thread, remove one (thread rm), or bring it back (thread restore)",
    ps: "list the threads that a worker runs now",
    follow: "watch a thread live",
    logs: "show a thread's debug log",
    diff: "compare two threads step by step",
    eval: "run a data set on one or several versions, score and compare them",
    chaos: "run a workflow under faults, and report repeated roles and differences",
  },
  Control: {
    pause: "pause threads after the current step",
    resume: "continue paused, interrupted or waiting threads",
    kill: "end threads now",
    fork: "start a new thread from the steps of another",
    retry: "continue a failed or killed thread in a new one",
    wake: "wake the threads that are due, for cron or a timer",
    rerun: "run a thread again with other params, or a step workflow from one of its steps",
  },
  Plans: {
    plan: "make a plan of a request, confirm it, and run it by hand or by a trigger",
  },
  Console: {
    serve: "serve the API and the console to this machine",
    mcp: "serve workflows and threads to a coding agent, over MCP",
  },
  Cluster: {
    cluster: "start, stop and show a cluster on this machine",
    worker: "run threads of a cluster or database, with any number of other workers",
    push: "move a thread to a cluster or database, or copy a workflow there",
    pull: "move a thread here from a cluster or database, or copy a workflow from there",
  },
  Authoring: {
    new: "create a project with a small workflow",
    dev: "run a source while you write it: again at each save, from the first step that changed",
    build: "build a source into one bundle file",
    skill: "print a skill for coding agents: how to write, test and debug a workflow",
  },
  Upkeep: {
    verify: "check every bundle and log of the storage root, or an attestation",
    attest: "sign a statement about an ended thread: its code and its records",
    gc: "move unused bundles to the trash",
    doctor: "check this machine and storage root for problems",
    completion: "print the completion script of a shell",
    version: "print the version",
    __score: "score threads with a scorer, for eval",
    __complete: "list completions of a command line",
    __man: "print the manual page",
  },
} as const;

type Names<Group> = Group extends unknown ? keyof Group : never;
type Name = Names<(typeof groups)[keyof typeof groups]>;

const files: Record<Name, () => Promise<CommandFile>> = {
  add: () => import("../commands/add.ts"),
  sync: () => import("../commands/sync.ts"),
  list: () => import("../commands/list.ts"),
  show: () => import("../commands/show.ts"),
  history: () => import("../commands/history.ts"),
  check: () => import("../commands/check.ts"),
  rollback: () => import("../commands/rollback.ts"),
  bisect: () => import("../commands/bisect.ts"),
  remove: () => import("../commands/remove.ts"),
  run: () => import("../commands/run.ts"),
  threads: () => import("../commands/threads.ts"),
  thread: () => import("../commands/thread.ts"),
  ps: () => import("../commands/ps.ts"),
  follow: () => import("../commands/follow.ts"),
  logs: () => import("../commands/logs.ts"),
  diff: () => import("../commands/diff.ts"),
  eval: () => import("../commands/eval.ts"),
  chaos: () => import("../commands/chaos.ts"),
  pause: () => import("../commands/pause.ts"),
  resume: () => import("../commands/resume.ts"),
  kill: () => import("../commands/kill.ts"),
  fork: () => import("../commands/fork.ts"),
  retry: () => import("../commands/retry.ts"),
  wake: () => import("../commands/wake.ts"),
  rerun: () => import("../commands/rerun.ts"),
  plan: () => import("../commands/plan.ts"),
  serve: () => import("../commands/serve.ts"),
  mcp: () => import("../commands/mcp.ts"),
  cluster: () => import("../commands/cluster.ts"),
  worker: () => import("../commands/worker.ts"),
  push: () => import("../commands/push.ts"),
  pull: () => import("../commands/pull.ts"),
  new: () => import("../commands/new.ts"),
  dev: () => import("../commands/dev.ts"),
  build: () => import("../commands/build.ts"),
  skill: () => import("../commands/skill.ts"),
  verify: () => import("../commands/verify.ts"),
  attest: () => import("../commands/attest.ts"),
  gc: () => import("../commands/gc.ts"),
  doctor: () => import("../commands/doctor.ts"),
  completion: () => import("../commands/completion.ts"),
  version: () => import("../commands/version.ts"),
  __score: () => import("../commands/score.ts"),
  __complete: () => import("../commands/complete.ts"),
  __man: () => import("../commands/manual.ts"),
};

export const entries = Object.entries(groups).flatMap(([group, members]) =>
  Object.entries(members).map(([name, summary]) => ({
    ...{ name, group, summary },
    load: files[name as Name],
    hidden: name.startsWith("__"),
  })),
);

/** Commands with `-q`, which prints only ids or names, one per line. */
export const quiet = new Set(["list", "run", "threads", "ps", "fork", "retry", "rerun"]);
