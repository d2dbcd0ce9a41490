// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_call.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "control/kube/codec/answer_reader.h"
#include "vxlan/text/printable.h"

namespace weft::kube {

struct ApiCall::Impl final : ExchangeHandler {
  Impl(Done then, std::size_t most) : done(std::move(then)), max_body(most) {}

  void OnHead(const HttpHead& head) override {
    answer.status = head.status;
    answer.content_type = head.content_type;
    answer.retry_after = head.retry_after;
    answer.credentials = head.credentials;
  }

  void OnBody(std::string_view bytes) override {
    if (answer.body.size() + bytes.size() <= max_body) {
      answer.body.append(bytes);
      return;
    }
    exchange.reset();  // call `done` last: it may destroy this object
    Done(std::move(done))(absl::ResourceExhaustedError(
        absl::StrCat(server, ": the answer is longer than ", max_body >> 20, " MiB")));
  }

  void OnEnd(const absl::Status& status) override {
    const Done then = std::move(done);
    if (!status.ok()) return then(status);
    if (answer.status != 200 || EncodingOf(answer.content_type)) return then(std::move(answer));
    then(absl::UnavailableError(absl::StrCat(server, ": the answer's Content-Type is ",
                                             Quoted(answer.content_type), ", not the API's")));
  }

  std::string server;
  Done done;
  std::size_t max_body;
  ApiAnswer answer;
  std::unique_ptr<Exchange> exchange;
};

ApiCall::ApiCall(ApiClient& client, HttpRequest request, std::chrono::milliseconds limit, Done done,
                 std::size_t max_body)
    : impl_(std::make_unique<Impl>(std::move(done), max_body)) {
  impl_->server = client.Describe();
  impl_->exchange = client.Start(std::move(request), *impl_, limit);
}

ApiCall::~ApiCall() = default;

}  // namespace weft::kube
