// Browsers start no worker for a page that is opened from the disk: there, what the search runs in the background runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      window.addEventListener("message", event => {
        if (event.source !== this.frame.contentWindow) return;
        this.dispatchEvent(new MessageEvent("message", {data: event.data}));
      });
      this.ready = new Promise(resolve => this.frame.addEventListener("load", resolve, {once: true}));
      this.frame.srcdoc = `<script>
        postMessage = message => parent.postMessage(message, "*");
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((loaded, failed) => {
          document.body.append(Object.assign(document.createElement("script"), {src: url, onload: loaded, onerror: failed}));
        })), Promise.resolve());
      <\/script><body><script src="${url}"><\/script>`;
    }
    postMessage(message) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data: message})));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
