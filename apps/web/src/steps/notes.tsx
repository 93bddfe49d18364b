import {
  CircleAlert,
  FileText,
  type LucideIcon,
  MessageSquare,
  Printer,
  Variable,
} from "lucide-react";
import type { Note } from "../activity/activity.ts";
import styles from "./step-card.module.css";

const icons: Record<Note["kind"], { icon: LucideIcon; word: string }> = {
  variable: { icon: Variable, word: "variable" },
  file: { icon: FileText, word: "file" },
  print: { icon: Printer, word: "printed" },
  error: { icon: CircleAlert, word: "error" },
  message: { icon: MessageSquare, word: "message" },
};

/** What else a step told: variables that changed, files, printed values, messages. */
export function Notes({ notes }: { notes: readonly Note[] }) {
  return (
    <ul className={styles.notes}>
      {notes.map(({ kind, text }, index) => {
        const { icon: Icon, word } = icons[kind];
        return (
          <li key={index}>
            <Icon aria-label={word} />
            <code>{text}</code>
          </li>
        );
      })}
    </ul>
  );
}
