// SPDX-License-Identifier: Apache-2.0
#include "hns/sequence.h"

#include "hns/api/response.h"

namespace weft::hns {
namespace {

struct Make {
  Api& api;
  std::optional<OpenedNetwork>& open;

  absl::Status Opened(absl::StatusOr<OpenedNetwork> opened) {
    absl::Status status = opened.status();
    if (status.ok()) open = *std::move(opened);
    return status;
  }

  Answer operator()(const ReadVersion&) { return Client(api).ReadVersion(); }
  Answer operator()(const CheckService& call) { return Client(api).ServiceGone(call.status); }
  Answer operator()(const ListNetworks& call) { return Client(api).Networks(call.name); }
  Answer operator()(const ReadSchema1& call) {
    Network network = call.network;
    Client(api).ReadSchema1(network).IgnoreError();
    return network;
  }
  Answer operator()(const ListEndpoints& call) {
    return Client(api).Endpoints(call.network, call.unread);
  }
  Answer operator()(const OpenNetwork& call) {
    open.reset();
    return Opened(Client(api).Open(call.network));
  }
  Answer operator()(const CreateNetwork& call) {
    open.reset();
    return Opened(Client(api).Create(call.document));
  }
  Answer operator()(const CloseNetwork&) {
    open.reset();
    return absl::OkStatus();
  }
  Answer operator()(const ReadNetwork&) { return open->Read(); }
  Answer operator()(const ModifyNetwork& call) {
    return call.add ? open->Add(call.policies) : open->Remove(call.policies);
  }
  Answer operator()(const DeleteNetwork& call) {
    return Client(api).DeleteNetwork(call.id, call.name);
  }
  Answer operator()(const DeleteEndpoint& call) {
    return Client(api).DeleteEndpoint(call.id, call.name);
  }
  Answer operator()(const CallSchema1& call) {
    absl::StatusOr<Response> response =
        ResponseOf(call.what, api.Call(call.method, call.path, call.request));
    if (!response.ok()) return absl::StatusOr<std::string>(response.status());
    return absl::StatusOr<std::string>(std::move(response->output));
  }
};

}  // namespace

Answer Caller::Make(const Call& call) { return std::visit(hns::Make{api_, open_}, call); }

}  // namespace weft::hns
