/* Step workflows for tests. Their model steps call a scripted model. */

const model = "claude-opus-4-6";

/** Reads a file, lets a model write about it, and saves the text. */
export const writer = {
  version: "3.17",
  name: "writer",
  registry: {
    params: ["topic(STRING)", "tone(STRING) = dry"],
    vars: ["$notes(STRING)", "$text(STRING)", "$style(STRING)"],
  },
  steps: [
    { id: "Set_Style", target: "$style", value: "=tone", next: "Tool_010_ReadFile" },
    {
      id: "Tool_010_ReadFile",
      in: { file_path: "notes.txt" },
      out: { $notes: "=_result" },
      next: "LLM_Write",
    },
    {
      id: "LLM_Write",
      meta: { title: "Write of the topic" },
      model,
      stream: true,
      in: { prompt: "=topic + ', ' + $style + ': ' + $notes" },
      out: { $text: "=_result" },
      next: "Write_Out",
    },
    { id: "Write_Out", target: "/out/text.txt", value: "=$text", next: "Stop_End" },
    { id: "Stop_End", reason: "written" },
  ],
};

/** Asks for permission, and returns the answer. */
export const asking = {
  version: "3.16",
  name: "asking",
  registry: { vars: ["$leave(OBJECT)", "$answered(STRING)"] },
  steps: [
    { id: "Pause_Leave", reason: "May I?", resumeResultTarget: "$leave", next: "Set_Answered" },
    { id: "Set_Answered", target: "$answered", value: "=$leave.word", next: "RETURN" },
  ],
};

/** Lets a model write a story in chapters, which takes some time. */
export const story = {
  version: "3.16",
  name: "story",
  registry: { params: ["chapters(ARRAY)"], vars: ["$story(ARRAY)"] },
  steps: [
    { id: "Loop_Chapters", source: "=chapters", children: ["LLM_Chapter"], next: "Stop_End" },
    {
      id: "LLM_Chapter",
      model,
      stream: true,
      in: { prompt: "='Chapter ' + _item" },
      out: { "$story[_index]": "=_result" },
      next: "RETURN",
    },
    { id: "Stop_End" },
  ],
};

/** Fails at its second step. */
export const failing = {
  version: "3.16",
  name: "failing",
  registry: { vars: ["$n(INT) = 1", "$m(INT)"] },
  steps: [
    { id: "Set_N", target: "$n", value: "=$n + 1", next: "Set_M" },
    { id: "Set_M", target: "$m", value: "=10 / ($n - 2)", next: "RETURN" },
  ],
};
