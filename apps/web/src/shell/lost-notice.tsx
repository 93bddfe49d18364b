import { CircleCheck, Unplug } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useConnection } from "../events/connection.ts";
import styles from "./shell.module.css";

/** Short gaps, as when a stream is opened anew, are not worth a word. */
const patienceMs = 700;
const gladMs = 2_500;

/** Tells when the server is not heard any more, and when it is again. */
export function LostNotice() {
  const connection = useConnection();
  const [shown, setShown] = useState<"lost" | "refused" | "back" | null>(null);
  const wasTold = useRef(false);
  useEffect(() => {
    if (connection !== "open") {
      const timer = setTimeout(() => {
        wasTold.current = true;
        setShown(connection);
      }, patienceMs);
      return () => clearTimeout(timer);
    }
    if (!wasTold.current) return;
    wasTold.current = false;
    setShown("back");
    const timer = setTimeout(() => setShown(null), gladMs);
    return () => clearTimeout(timer);
  }, [connection]);
  return (
    <div className={styles.notice} aria-live="polite">
      {shown === "lost" && (
        <p className={styles.lost}>
          <Unplug aria-hidden /> The server is not reached. This page shows what was last known, and
          goes on by itself; the threads run without it.
        </p>
      )}
      {shown === "refused" && (
        <p className={styles.lost}>
          <Unplug aria-hidden /> The server refuses to tell this page more. Load the page again: it
          then says why.
        </p>
      )}
      {shown === "back" && (
        <p className={styles.back}>
          <CircleCheck aria-hidden /> Connected again. Nothing was missed.
        </p>
      )}
    </div>
  );
}
