import type { Eval } from "@uncaged/workflow-server/api-types";
import {
  CircleAlert,
  CircleCheck,
  CircleDollarSign,
  CircleMinus,
  CircleStop,
  CircleX,
  type LucideIcon,
  MessageCircleQuestion,
} from "lucide-react";

type Run = Eval["cases"][number]["runs"][number];

export const outcomeWords: Record<Run["outcome"], { word: string; icon: LucideIcon }> = {
  scored: { word: "scored", icon: CircleCheck },
  failed: { word: "failed", icon: CircleX },
  waits: { word: "waiting for an answer", icon: MessageCircleQuestion },
  budget: { word: "over budget", icon: CircleDollarSign },
  rounds: { word: "out of rounds", icon: CircleStop },
  unscored: { word: "not scored", icon: CircleAlert },
};

/** The result of a run: its score and whether it passed, or the reason why it has no score. */
export function shownRun({ outcome, pass, score }: Run): {
  text: string;
  word: string;
  icon: LucideIcon;
  ink: string;
} {
  if (outcome !== "scored") {
    const { icon, word } = outcomeWords[outcome];
    return { text: word, word, icon, ink: outcome === "failed" ? "text-red" : "text-amber" };
  }
  const text = score?.toFixed(2) ?? "–";
  return pass
    ? { text, word: "passed", icon: CircleCheck, ink: "text-green" }
    : { text, word: "did not pass", icon: CircleMinus, ink: "text-red" };
}
