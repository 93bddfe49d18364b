// 2. Roles and a moderator: a function of the previous steps selects the next role. Here an editor and a critic
// alternate until the critic has no more objections.
//
//     uncaged-workflow add shorten examples/02-moderator.ts
//     uncaged-workflow run shorten --prompt 'It is really very nice to see you' --follow
import { createRoleModerator, type Descriptor, END, type Role } from "@uncaged/workflow";

type Editor = { removed: string | null };
type Critic = { filler: string | null };

export const descriptor: Descriptor = {
  description: "Takes filler words out of the prompt, one by one",
  roles: {
    editor: { description: "Takes out what the critic named", schema: { required: ["removed"] } },
    critic: { description: "Names a filler word", schema: { required: ["filler"] } },
  },
};

const fillers = ["really", "very", "just", "actually", "basically"];

const editor: Role<Editor> = async (ctx) => {
  const text = ctx.steps.findLast(({ role }) => role === "editor")?.content ?? ctx.start.content;
  const filler = ctx.steps.at(-1)?.meta.filler;
  if (typeof filler !== "string") return { content: text, meta: { removed: null } };
  const shorter = text.split(" ").filter((word) => word.toLowerCase() !== filler);
  return { content: shorter.join(" "), meta: { removed: filler } };
};

const critic: Role<Critic> = async (ctx) => {
  const words = (ctx.steps.at(-1)?.content ?? "").toLowerCase().split(" ");
  const filler = fillers.find((word) => words.includes(word)) ?? null;
  return { content: filler === null ? "good" : `take out "${filler}"`, meta: { filler } };
};

export const run = createRoleModerator<{ editor: Editor; critic: Critic }>({
  roles: { editor, critic },
  moderator({ steps }) {
    const last = steps.at(-1);
    if (last?.role === "editor") return "critic";
    return last?.role === "critic" && last.meta.filler === null ? END : "editor";
  },
  summary: ({ steps }) => steps.findLast(({ role }) => role === "editor")?.content ?? "",
});
