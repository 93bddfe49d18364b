import {
  cpSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { attempts, Done, sh, workFolder } from "./attempt.mjs";

/* Files and links that the host meets when it retries the step, reads its folders, or removes them. */
const login = "/workspace/home/.claude/.credentials.json";
const clean = (path) => {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path.replace(/\/[^/]+$/, ""), { recursive: true });
};
const planted = (path, act) => {
  clean(path);
  act(path);
  return new Done(`planted ${path}`);
};

attempts(
  "link",
  {
    "a link in place of the login file": ({ home }) =>
      planted(login, (path) => symlinkSync(`${home}/.bashrc`, path)),
    "a link to a new file in place of the login file": ({ home }) =>
      planted(login, (path) => symlinkSync(`${home}/planted`, path)),
    "a linked folder of the login file": ({ home }) =>
      planted("/workspace/home/.claude", (path) => symlinkSync(`${home}/private`, path)),
    "a folder that is linked by two links": ({ home }) => {
      planted("/workspace/home/.claude", (path) => symlinkSync("/workspace/home/next", path));
      return planted("/workspace/home/next", (path) => symlinkSync(`${home}/private`, path));
    },
    "a pipe in place of the login file": () => planted(login, (path) => sh(`mkfifo ${path}`)),
    "a folder in place of the login file": () => planted(login, (path) => mkdirSync(path)),
    "a hard link in place of the login file": () =>
      planted(login, (path) => linkSync("/workspace/mounts/fixed/kept", path)),
    "a socket in place of the login file": () =>
      planted(login, (path) =>
        sh(`python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("${path}")'`),
      ),
    "a device in place of the login file": () =>
      planted(login, (path) => sh(`mknod ${path} c 1 3`)),
    "an unwritable login file": () =>
      planted(login, (path) => writeFileSync(path, "", { mode: 0 })),
    "an inaccessible folder": () =>
      planted("/workspace/home/.claude", (path) => mkdirSync(path, { mode: 0 })),
    "a link in place of a folder of the home": ({ home }) => {
      for (const name of [".cache", ".config", ".local", ".npm"])
        planted(`/workspace/home/${name}`, (path) => symlinkSync(`${home}/private`, path));
      return new Done("planted each");
    },
    "a link out of the folder for later steps": ({ home }) =>
      planted(`${workFolder}/later`, (path) => symlinkSync(`${home}/private`, path)),
    "a link in place of the home": ({ home }) => {
      renameSync("/workspace/home", "/workspace/other");
      symlinkSync(`${home}/private`, "/workspace/home");
      return "replaced the home";
    },
    "a link in place of the folder of messages": ({ home }) => {
      renameSync("/workspace/ipc/output", "/workspace/ipc/other");
      symlinkSync(`${home}/private`, "/workspace/ipc/output");
      return "replaced the folder of messages";
    },
    "links as messages": ({ home }) => {
      const names = { 1: ".ssh/id_rsa", 2: ".claude/.credentials.json", 3: "private/kept" };
      for (const [n, name] of Object.entries(names))
        symlinkSync(`${home}/${name}`, `/workspace/ipc/output/${n}.json`);
      return new Done("planted each");
    },
    "a linked folder among the messages to remove": ({ home }) => {
      symlinkSync(`${home}/private`, "/workspace/ipc/output/folder");
      symlinkSync(`${home}/private`, `${workFolder}/folder`);
      symlinkSync(`${home}/private`, "/workspace/home/folder");
      return new Done("planted each");
    },
    "folders deeper than the longest path": () => {
      sh(
        "cd /workspace/work; for n in $(seq 60); do d=$(printf 'd%.0s' $(seq 200)); mkdir -p $d && cd -P $d; done",
      );
      return new Done("made them");
    },
    "unremovable folders": () => {
      mkdirSync(`${workFolder}/shut/in`, { recursive: true });
      cpSync("/etc/passwd", `${workFolder}/shut/in/file`);
      sh(`chmod 0 ${workFolder}/shut/in ${workFolder}/shut; chmod 0 /workspace/home`);
      return new Done("made them");
    },
    "file names with invalid text": () => {
      sh(
        `cd /workspace/work && touch "$(printf 'a\\377b')" "$(printf 'a\\nb')" "$(printf '\\033[31m')" -- -rf && cd /workspace/ipc/output && touch "$(printf '\\033]0;x\\007.json')" "$(printf 'a\\377.json')"`,
      );
      return new Done("made them");
    },
  },
  { needs: "retry" },
);
