// Host page of an MCP App, on the bridge of @modelcontextprotocol/ext-apps, which checks every
// message. The test calls `host`; tools are called through `callTool`, which the test exposes.
import {AppBridge, PostMessageTransport} from "@modelcontextprotocol/ext-apps/app-bridge";

const CAPABILITIES = {serverTools: {}, openLinks: {}, logging: {}};

window.host = {
  sizes: [],
  errors: [],

  // Opens the app in a sandboxed frame, as clients do, and waits until it is initialized.
  async open(hostContext) {
    const frame = document.createElement("iframe");
    frame.title = "Search results";
    frame.setAttribute("sandbox", "allow-scripts");
    document.body.append(frame);
    const bridge = new AppBridge(null, {name: "test-host", version: "1"}, CAPABILITIES, {hostContext});
    this.bridge = bridge;
    bridge.oncalltool = params => window.callTool(params);
    bridge.onrequestdisplaymode = async ({mode}) => {
      await bridge.sendHostContextChange({displayMode: mode});
      frame.style.height = "100vh";
      return {mode};
    };
    bridge.onsizechange = ({height}) => {
      this.sizes.push(height);
      frame.style.height = `${height}px`;
    };
    bridge.onerror = error => this.errors.push(error.message);
    const initialized = new Promise(resolve => { bridge.oninitialized = resolve; });
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    frame.src = "http://app.test/evidence.html";
    await initialized;
  },
};
window.ready = true;
