import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { attempts, Done, ifSecret } from "./attempt.mjs";

/* Repeatedly swaps a folder for a link while the host starts other steps that see the folder. */
const project = "/workspace/project";
const longestMs = 45_000;
const tried = (act) => {
  try {
    return act();
  } catch {
    return null;
  }
};

attempts(
  "flip",
  {
    "a folder swapped for a link, in a loop": ({ flipped, to }) => {
      const [path, aside, link] = [
        `${project}/${flipped}`,
        `${project}/.aside`,
        `${project}/.link`,
      ];
      symlinkSync(to, link);
      let count = 0;
      for (const end = Date.now() + longestMs; Date.now() < end; count += 1) {
        renameSync(path, aside);
        renameSync(link, path);
        renameSync(path, link);
        renameSync(aside, path);
        if (count % 1000 === 0 && existsSync(`${project}/stop`)) break;
      }
      rmSync(link);
      return new Done(`flipped ${count} times`);
    },
    "views during the swap": ({ secret }) => {
      const places = [project, "/workspace/mounts/data", "/workspace/mounts/fixed"];
      for (const folder of places) {
        for (const name of tried(() => readdirSync(folder)) ?? []) {
          const text = tried(() => readFileSync(`${folder}/${name}`, "utf8")) ?? "";
          if (ifSecret(text, { secret }) === null) continue;
          tried(() => writeFileSync(`${folder}/planted`, "hostile\n"));
          return `${folder}/${name} has a secret`;
        }
      }
      return null;
    },
    "the folder above the storage root, moved": ({ above }) => {
      const [path, aside] = [`${project}/${above}`, `${project}/.moved`];
      renameSync(path, aside);
      mkdirSync(path, { recursive: true });
      try {
        for (const end = Date.now() + 10_000; Date.now() < end; ) {
          if (existsSync(`${project}/stop`)) break;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
        }
      } finally {
        renameSync(path, `${project}/.made`);
        renameSync(aside, path);
      }
      return new Done("moved it, and back");
    },
    "the storage root in the moved folder": ({ above, rootBelow, secret }) => {
      for (const folder of [`${project}/.moved`, `${project}/${above}`]) {
        const path = `${folder}/${rootBelow}/plans/secrets.json`;
        const text = tried(() => readFileSync(path, "utf8")) ?? "";
        if (text.includes(secret)) return `read ${path}`;
        const names = tried(() => readdirSync(`${folder}/${rootBelow}`)) ?? [];
        if (names.length > 0) return `listed ${folder}/${rootBelow}: ${names.join(" ")}`;
      }
      return null;
    },
  },
  { needs: "flip" },
);
