// 1. Plain: a workflow is a file with the named exports `run` and `descriptor`. It needs no import.
//
//     uncaged-workflow add count examples/01-plain.esm.js
//     uncaged-workflow run count --prompt 'one two three' --wait

export const descriptor = {
  description: "Counts the words of the prompt",
  roles: {
    splitter: {
      description: "Finds the words",
      schema: { type: "object", required: ["words"], properties: { words: { type: "array" } } },
    },
    counter: {
      description: "Counts them",
      schema: { type: "object", required: ["count"], properties: { count: { type: "integer" } } },
    },
  },
};

export async function* run(input) {
  // After a crash, a resume or a fork, `input.steps` has the committed steps: continue after them.
  const done = (role) => input.steps.find((step) => step.role === role);

  let split = done("splitter");
  if (!split) {
    const words = input.prompt.split(/\s+/).filter((word) => word !== "");
    split = { role: "splitter", content: words.join(" | "), meta: { words } };
    yield split;
  }

  const count = split.meta.words.length;
  if (!done("counter")) yield { role: "counter", content: `${count} words`, meta: { count } };

  return { returnCode: 0, summary: `${count} words` };
}
