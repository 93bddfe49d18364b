import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { attempts, Done, needs, sh } from "./attempt.mjs";
import { owning, plant } from "./setting.mjs";

/* Attempts on the project's repository. Afterwards the test commits and reads it with the user's own git. */
const git = "/workspace/project/.git";
const program = "/workspace/project/evil.sh";
const config = (targets) => {
  plant(program, owning(targets));
  const evil = `${targets.project}/evil.sh`;
  return [
    "[core]",
    `\tfsmonitor = ${evil}`,
    `\tsshCommand = ${evil}`,
    `\teditor = ${evil}`,
    `\tpager = ${evil}`,
    `\thooksPath = ${targets.project}`,
    "[alias]",
    `\tx = !${evil}`,
    '[filter "evil"]',
    `\tclean = ${evil}`,
    `\tsmudge = ${evil}`,
    '[diff "evil"]',
    `\ttextconv = ${evil}`,
    "",
  ].join("\n");
};
const hooks = (folder, targets) => {
  for (const name of ["pre-commit", "post-commit", "post-checkout", "post-index-change"])
    plant(`${folder}/${name}`, owning(targets));
};
const whole = (folder, targets) => {
  mkdirSync(`${folder}/objects`, { recursive: true });
  mkdirSync(`${folder}/refs/heads`, { recursive: true });
  writeFileSync(`${folder}/HEAD`, "ref: refs/heads/main\n");
  writeFileSync(`${folder}/config`, `[core]\n\trepositoryformatversion = 0\n${config(targets)}`);
  hooks(`${folder}/hooks`, targets);
};

attempts(
  "git",
  {
    hooks: (targets) => {
      hooks(`${git}/hooks`, targets);
      return new Done("wrote hooks");
    },
    settings: (targets) => {
      const text = config(targets);
      writeFileSync(`${git}/config`, text, { flag: "a" });
      return new Done("wrote the settings");
    },
    "settings, written by git": (targets) => {
      needs("git");
      config(targets);
      sh(`cd /workspace/project && git config core.fsmonitor '${targets.project}/evil.sh'`);
      return new Done("set core.fsmonitor");
    },
    "settings, by a rename": (targets) => {
      writeFileSync(
        `${git}/config.new`,
        `[core]\n\trepositoryformatversion = 0\n${config(targets)}`,
      );
      renameSync(`${git}/config.new`, `${git}/config`);
      return new Done("renamed");
    },
    "another repository in place of the repository": (targets) => {
      renameSync(git, "/workspace/project/.old");
      whole(git, targets);
      return new Done("replaced .git");
    },
    "a file in place of the repository": (targets) => {
      whole("/workspace/project/.other", targets);
      renameSync(git, "/workspace/project/.old");
      writeFileSync(git, "gitdir: .other\n");
      return new Done("replaced .git");
    },
    "a link in place of the repository": (targets) => {
      whole("/workspace/project/.other", targets);
      renameSync(git, "/workspace/project/.old");
      symlinkSync(".other", git);
      return new Done("replaced .git");
    },
    "the repository's folder, removed and created again": (targets) => {
      rmSync(git, { recursive: true, force: true });
      whole(git, targets);
      return new Done("replaced .git");
    },
    "the folder of hooks, moved": (targets) => {
      renameSync(`${git}/hooks`, `${git}/hooks.old`);
      hooks(`${git}/hooks`, targets);
      return new Done("replaced the hooks");
    },
    "settings of a worktree": (targets) => {
      writeFileSync(`${git}/config.worktree`, config(targets));
      writeFileSync(`${git}/config`, "[extensions]\n\tworktreeConfig = true\n", { flag: "a" });
      return new Done("wrote config.worktree");
    },
    "settings of a shared folder (commondir)": (targets) => {
      const other = "/workspace/project/.common";
      cpSync(git, other, { recursive: true });
      rmSync(`${other}/config`, { force: true });
      rmSync(`${other}/hooks`, { recursive: true, force: true });
      writeFileSync(`${other}/config`, `[core]\n\trepositoryformatversion = 0\n${config(targets)}`);
      hooks(`${other}/hooks`, targets);
      writeFileSync(`${git}/commondir`, "../.common\n");
      return new Done("wrote commondir");
    },
    "attributes with a filter": (targets) => {
      const text = config(targets);
      mkdirSync(`${git}/info`, { recursive: true });
      writeFileSync(`${git}/info/attributes`, "* filter=evil diff=evil\n");
      plant("/workspace/project/.gitattributes", "* filter=evil diff=evil\n", 0o644);
      writeFileSync(`${git}/config`, text, { flag: "a" });
      return new Done("wrote attributes");
    },
    "settings in an included file": (targets) =>
      plant("/workspace/project/included.gitconfig", config(targets), 0o644),
    "a repository of a submodule": (targets) => {
      whole(`${git}/modules/sub`, targets);
      plant(
        "/workspace/project/.gitmodules",
        '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tupdate = !./evil.sh\n',
        0o644,
      );
      return plant("/workspace/project/sub/.git", "gitdir: ../.git/modules/sub\n", 0o644);
    },
    "the repository of a mount": (targets) => {
      hooks("/workspace/mounts/data/.git/hooks", targets);
      return new Done("wrote hooks");
    },
  },
  { needs: "project" },
);
