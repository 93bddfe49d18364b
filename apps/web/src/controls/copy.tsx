import { Check, Copy as CopyIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "./button.tsx";
import styles from "./copy.module.css";

/** Copies a text; `what` names it: "the id". */
export function Copy({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => setCopied(true));
  };
  return (
    <Button
      look="quiet"
      small
      icon={isCopied ? <Check /> : <CopyIcon />}
      aria-label={isCopied ? `Copied ${what}` : `Copy ${what}`}
      title={`Copy ${what}`}
      onClick={copy}
    />
  );
}

/** A command to type in a terminal, with a button that copies it. */
export function Command({ children }: { children: string }) {
  return (
    <div className={styles.command}>
      <code>
        <span className={styles.prompt} aria-hidden>
          ${" "}
        </span>
        {children}
      </code>
      <Copy text={children} what="the command" />
    </div>
  );
}
